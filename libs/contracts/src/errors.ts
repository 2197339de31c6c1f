import type { Fault } from './schema.js';

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
