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
