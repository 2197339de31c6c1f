/*
 * Token counting, exact and linear on any input. Plain synchronous code: load it in any thread. The rules:
 *
 * - Counts are those of tiktoken for the encoding, and of gpt-tokenizer except on U+FEFF, U+0085 and ſ after an apostrophe,
 *   where that package leaves the encoding's definition. Special tokens (`<|endoftext|>`) are text like any other.
 * - A run without a break is cut into pieces of `MAX_PIECE_BYTES`; a cut adds about a token. Shorter runs are exact.
 * - Ill-formed UTF-8 counts as U+FFFD, as `TextDecoder` decodes it; so do lone surrogates in strings.
 * - A byte-order mark is kept and counted.
 * - Letters, marks and numbers are those of the Unicode version of the running Node.
 */
export { DEFAULT_ENCODING, ENCODINGS, tokenizerId, type EncodingName } from './encoding.js';
export { PieceCounter } from './piece-counter.js';
export { MAX_PIECE_BYTES } from './scanner.js';
export { countTokens, TokenCounter } from './token-counter.js';
export { tokensAround } from './tokens-around.js';
export { type TokenPart, TokenSplitter } from './token-splitter.js';
