interface Held<T> {
  item: T;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export interface CollectorOptions<T> {
  /** Writes the items, all or none. */
  write: (items: readonly T[]) => Promise<void>;
  /** At most so many items a write. */
  max: number;
  /** How long the first item of a write waits for others. */
  lingerMs: number;
  /** Whether an item can be at fault for this error, so that writing the items one by one can save the others. */
  isItemsFault: (error: unknown) => boolean;
}

/**
 * Gathers items that arrive one by one into writes of many. Guarantee: `add` resolves after the write of its item has
 * committed, and rejects when it has not. One write runs at a time; what arrives meanwhile is the next.
 */
export class Collector<T> {
  private waiting: Held<T>[] = [];
  private timer: NodeJS.Timeout | undefined;
  private writing = false;

  constructor(private readonly options: CollectorOptions<T>) {}

  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (this.waiting.length >= this.options.max) this.flush();
      else this.timer ??= setTimeout(() => this.flush(), this.options.lingerMs);
    });
  }

  /** Writes what waits now, without lingering. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.writing && this.waiting.length > 0) void this.run();
  }

  private async run(): Promise<void> {
    this.writing = true;
    while (this.waiting.length > 0) await this.writeAll(this.waiting.splice(0, this.options.max));
    this.writing = false;
  }

  private async writeAll(held: readonly Held<T>[]): Promise<void> {
    try {
      await this.options.write(held.map(({ item }) => item));
      for (const { resolve } of held) resolve();
    } catch (error) {
      if (held.length > 1 && this.options.isItemsFault(error))
        for (const one of held) await this.writeAll([one]);
      else for (const { reject } of held) reject(error);
    }
  }
}
