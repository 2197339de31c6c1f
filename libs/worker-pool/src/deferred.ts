/** A promise with its two ends in hand. Settling it again does nothing. */
export class Deferred<T> {
  resolve!: (value: T | PromiseLike<T>) => void;
  reject!: (reason: Error) => void;

  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}
