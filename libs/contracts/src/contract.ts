import { InvalidPayloadError } from './errors.js';
import type { Check, Fault } from './schema.js';

/** The agreed shape of one kind of payload. */
export class Contract<T> {
  constructor(
    readonly name: string,
    private readonly check: Check<T>,
  ) {}

  faultsOf(value: unknown): Fault[] {
    const faults: Fault[] = [];
    this.check(value, faults);
    return faults;
  }

  /** The value, typed; throws InvalidPayloadError with every fault. */
  parse(value: unknown): T {
    const faults = this.faultsOf(value);
    if (faults.length > 0) throw new InvalidPayloadError(this.name, faults);
    return value as T;
  }
}
