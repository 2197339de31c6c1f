/**
 * Lets one task through at a time, in order of arrival. A task that fails does not hold up the next.
 */
export class Mutex {
  private last: Promise<unknown> = Promise.resolve();
  private count = 0;

  /** Tasks inside and waiting. */
  get size(): number {
    return this.count;
  }

  runExclusive<T>(task: () => Promise<T>): Promise<T> {
    this.count++;
    const turn = this.last.then(task).finally(() => this.count--);
    this.last = turn.catch(() => {});
    return turn;
  }

  /** Resolves when everyone who arrived before has left. */
  async drained(): Promise<void> {
    await this.last;
  }
}
