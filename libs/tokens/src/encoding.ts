/** The encodings we count in; the names are OpenAI's. */
export const ENCODINGS = ['o200k_base', 'cl100k_base'] as const;
export type EncodingName = (typeof ENCODINGS)[number];

export const DEFAULT_ENCODING: EncodingName = 'o200k_base';

/** The package whose ranks we count with. A test holds this against the installed version. */
const RANKS_PACKAGE = 'gpt-tokenizer@4.0.0';

/** Grows whenever the counter's own rules change what any text counts to (`MAX_PIECE_BYTES`, repair, classes). */
const COUNTER_VERSION = 1;

/** Names what produced a count, to be stored beside it: counts are comparable only under the same id. */
export function tokenizerId(encoding: EncodingName = DEFAULT_ENCODING): string {
  return `${RANKS_PACKAGE}/${encoding}+millrace.${COUNTER_VERSION}`;
}
