import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { countTokens as gptTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { TokenCounter } from '#tokens';

export type Tokenizer = 'millrace' | 'gpt-tokenizer';

// One thread of a limit: nothing but reading and counting these files.
const { paths, tokenizer } = workerData as { paths: string[]; tokenizer: Tokenizer };
const counter = new TokenCounter('o200k_base');
const anyText = { disallowedSpecial: new Set<string>() };
let bytes = 0;
for (const path of paths) {
  const content = readFileSync(path);
  // What the batcher would skip as binary costs the limit nothing either.
  if (content.subarray(0, 8192).includes(0)) continue;
  bytes += content.length;
  if (tokenizer === 'gpt-tokenizer') gptTokens(content.toString('utf8'), anyText);
  else {
    counter.push(content);
    counter.end();
  }
}
parentPort?.postMessage({ bytes });
