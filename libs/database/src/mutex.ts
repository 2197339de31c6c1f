/**
 * Lets one task through at a time, in order of arrival. A task that fails does not hold up the next.
 */
export class Mutex {
  private last: Promise<unknown> = Promise.resolve();

  runExclusive<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.last.then(task);
    this.last = turn.catch(() => {});
    return turn;
  }
}
