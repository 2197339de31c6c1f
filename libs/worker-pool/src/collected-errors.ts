import { ErrorsOmittedError } from './worker-pool.errors.js';

/** Keeps the first errors up to a limit and counts the rest, so that a run of failures cannot fill the memory. */
export class CollectedErrors {
  private readonly kept: Error[] = [];
  private omitted = 0;

  constructor(private readonly limit: number) {}

  add(error: Error): void {
    if (this.kept.length < this.limit) this.kept.push(error);
    else this.omitted++;
  }

  list(): Error[] {
    const last = this.omitted > 0 ? [new ErrorsOmittedError(this.omitted, this.kept.length)] : [];
    return [...this.kept, ...last];
  }
}
