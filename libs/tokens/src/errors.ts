/** The encoding asked for is not one we have ranks and a scanner for. */
export class UnknownEncodingError extends Error {
  readonly code = 'TOKENS_UNKNOWN_ENCODING';

  constructor(
    readonly encoding: string,
    known: readonly string[],
  ) {
    super(`No encoding is called '${encoding}'; use one of ${known.join(', ')}.`);
    this.name = 'UnknownEncodingError';
  }
}

/** The ranks could not be read: counting is impossible, and guessing would overfill batches. */
export class VocabularyUnavailableError extends Error {
  readonly code = 'TOKENS_VOCABULARY_UNAVAILABLE';

  constructor(
    readonly encoding: string,
    cause: unknown,
  ) {
    super(`The ranks of ${encoding} could not be loaded; reinstall the gpt-tokenizer package.`, { cause });
    this.name = 'VocabularyUnavailableError';
  }
}

/** A budget under which some single character could not be sent at all. */
export class BudgetTooSmallError extends Error {
  readonly code = 'TOKENS_BUDGET_TOO_SMALL';

  constructor(
    readonly budget: number,
    readonly minimum: number,
  ) {
    super(
      `A budget of ${budget} tokens cannot hold every character; give an integer of at least ${minimum}.`,
    );
    this.name = 'BudgetTooSmallError';
  }
}

/** A cache size that no table can have. */
export class CacheSizeError extends Error {
  readonly code = 'TOKENS_CACHE_SIZE';

  constructor(
    readonly entries: number,
    readonly maximum: number,
  ) {
    super(`A piece cache cannot hold ${entries} entries; give an integer from 1 to ${maximum}.`);
    this.name = 'CacheSizeError';
  }
}
