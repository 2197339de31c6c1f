import { DEFAULT_ENCODING, type EncodingName } from './encoding.js';
import { TokenCounter } from './token-counter.js';

const counters = new Map<EncodingName, TokenCounter>();

/** The number of tokens of a text. Special tokens such as `<|endoftext|>` are text like any other. Never throws on content. */
export function countTokens(text: string | Uint8Array, encoding: EncodingName = DEFAULT_ENCODING): number {
  const counter = counterOf(encoding);
  if (typeof text === 'string') counter.pushText(text);
  else counter.push(text);
  return counter.end().tokens;
}

function counterOf(encoding: EncodingName): TokenCounter {
  let counter = counters.get(encoding);
  if (counter === undefined) counters.set(encoding, (counter = new TokenCounter(encoding)));
  return counter;
}
