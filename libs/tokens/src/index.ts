export { countTokens } from './count-tokens.js';
export { DEFAULT_ENCODING, ENCODINGS, tokenizerId, type EncodingName } from './encoding.js';
export {
  BudgetTooSmallError,
  CacheSizeError,
  UnknownEncodingError,
  VocabularyUnavailableError,
} from './errors.js';
export { MAX_PIECE_BYTES } from './scanner.js';
export { TokenCounter, type TokenCount, type TokenCounterOptions } from './token-counter.js';
export { splitByTokens, type TokenPart, TokenSplitter } from './token-splitter.js';
