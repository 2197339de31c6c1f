import { InvalidPoolOptionError } from './worker-pool.errors.js';

/** The value, if it is a whole number of at least `least`; otherwise an error that names what was found and allowed. */
export function wholeNumber(option: string, found: number, least: number): number {
  if (Number.isSafeInteger(found) && found >= least) return found;
  throw new InvalidPoolOptionError(option, found, `a whole number of at least ${least}`);
}
