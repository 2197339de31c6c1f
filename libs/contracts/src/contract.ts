import type { Check, Fault } from './schema.js';

/** The agreed shape of one kind of payload. */
export class Contract<T> {
  constructor(
    readonly name: string,
    /** Every fault of a payload. */
    readonly faultsOf: Check<T>,
  ) {}

  /** The value, typed; throws InvalidPayloadError with every fault. */
  parse(value: unknown): T {
    const faults = this.faultsOf(value);
    if (faults.length > 0) throw new InvalidPayloadError(this.name, faults);
    return value as T;
  }
}

/** A payload that does not keep its contract. Trying again cannot help: the job is dead-lettered at once. */
export class InvalidPayloadError extends Error {
  readonly code = 'INVALID_PAYLOAD';

  constructor(
    readonly contract: string,
    readonly faults: readonly Fault[],
  ) {
    super(
      `${contract} payload is invalid: ${faults
        .slice(0, 20)
        .map(({ path, found, rule }) => `${path || 'payload'}: found ${found}, allowed is ${rule}`)
        .join('; ')}`,
    );
    this.name = 'InvalidPayloadError';
  }
}
