import { within } from './sleep.js';

export interface CoalescerOptions<Item, Result> {
  /** Does all of them or none, and answers each in the order given, if there is an answer. */
  work: (items: readonly Item[]) => Promise<readonly Result[] | void>;
  /** What an item adds to a call; 1 unless given. */
  weigh?: (item: Item) => number;
  /** What one call takes at most, unless a single item weighs more. */
  limit?: number;
  /** Whether one item may be to blame: then they are halved until it stands alone. If not, all fail at once. */
  blames?: (error: unknown) => boolean;
  /** Where items come faster than calls end: how long the next call waits for more of them, unless they fill it. */
  gatherMs?: number;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit: what arrives while one call of `work` runs goes into the next, so that a slow database gets fewer, larger
 * transactions and an idle one adds no wait. One call at a time. Each item settles by itself: a bad one costs the others a
 * few more calls, never their result.
 */
export class Coalescer<Item, Result> {
  private queue: Waiting<Item, Result>[] = [];
  private weight = 0;
  private running: Promise<void> | undefined;
  private full: () => void = () => {};
  private draining = 0;

  constructor(private readonly options: CoalescerOptions<Item, Result>) {}

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.queue.push({ item, resolve, reject });
      this.weight += this.weigh(item);
      if (this.weight >= this.limit) this.full();
      this.running ??= this.run();
    });
  }

  /** Resolves when nothing waits and nothing runs; until then no call waits for more. */
  async drained(): Promise<void> {
    this.draining++;
    this.full();
    await this.running;
    this.draining--;
  }

  /** Rejects what waits; what runs goes on. */
  abandon(error: unknown): void {
    this.weight = 0;
    for (const { reject } of this.queue.splice(0)) reject(error);
  }

  private get limit(): number {
    return this.options.limit ?? Infinity;
  }

  private weigh(item: Item): number {
    return this.options.weigh?.(item) ?? 1;
  }

  private async run(): Promise<void> {
    // What is ready in this turn of the event loop shares the first call.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.queue.length > 0) {
      await this.settle(this.take());
      await this.gathered();
    }
    // In the same turn as the look at the queue: what comes from now on starts anew.
    this.running = undefined;
  }

  private async gathered(): Promise<void> {
    const { gatherMs } = this.options;
    const waits = this.queue.length > 0 && this.weight < this.limit && this.draining === 0;
    if (gatherMs === undefined || !waits) return;
    await within(gatherMs, new Promise<void>((resolve) => (this.full = resolve)), () => {});
  }

  private take(): Waiting<Item, Result>[] {
    let weight = 0;
    const length = this.queue.findIndex(({ item }) => (weight += this.weigh(item)) > this.limit);
    const group = this.queue.splice(0, length === -1 ? this.queue.length : Math.max(1, length));
    this.weight -= group.reduce((sum, { item }) => sum + this.weigh(item), 0);
    return group;
  }

  private async settle(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.options.work(group.map(({ item }) => item));
      group.forEach(({ resolve }, index) => resolve(results?.[index] as Result));
    } catch (error) {
      if (group.length > 1 && (this.options.blames?.(error) ?? true)) return this.halve(group);
      for (const { reject } of group) reject(error);
    }
  }

  private async halve(group: readonly Waiting<Item, Result>[]): Promise<void> {
    const middle = Math.ceil(group.length / 2);
    await this.settle(group.slice(0, middle));
    await this.settle(group.slice(middle));
  }
}
