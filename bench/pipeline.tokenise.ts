import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { TokenCounter } from '#tokens';

// One thread of the limit: nothing but reading and counting these files.
const { paths } = workerData as { paths: string[] };
const counter = new TokenCounter('o200k_base');
let bytes = 0;
let tokens = 0;
for (const path of paths) {
  const content = readFileSync(path);
  // What the batcher would skip as binary costs the limit nothing either.
  if (content.subarray(0, 8192).includes(0)) continue;
  counter.push(content);
  const counted = counter.end();
  bytes += counted.bytes;
  tokens += counted.tokens;
}
parentPort?.postMessage({ bytes, tokens });
