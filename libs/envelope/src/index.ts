export { allowanceTokens, BATCH_ALLOWANCE_TOKENS, formatOf, renderBatch } from './envelope.js';
export { FORMATS, type Format, type FormatName, type LoadedFile } from './format.js';
export { jsonFile, type JsonFile } from './jsonl.js';
export { shownPath } from './shown-path.js';
