export const PACKINGS = ['best-fit', 'sequential'] as const;
export type Packing = (typeof PACKINGS)[number];

export interface PackLimits {
  /** Tokens that the items of one bin may cost together. */
  maxTokens: number;
  maxItems: number;
  openBins: number;
}

/** Something to pack. `tokens` is all that it costs, what stands around it included; it fits an empty bin. */
export interface Item<T> {
  tokens: number;
  value: T;
  /** When it arrived, in monotonic milliseconds. */
  at: number;
}

export interface Bin<T> {
  items: Item<T>[];
  tokens: number;
  /** When its oldest item arrived. */
  since: number;
}

// What is left of a bin this full is less than a usual file needs: waiting for a crumb would hold up the rest.
const FULL_RATIO = 0.99;

/**
 * Puts items into bins: each goes where it leaves the least room. When it fits nowhere and no bin may be opened, the fullest
 * is closed. With one bin that is sequential packing: the item that would exceed it closes it and starts the next.
 * Pure: no clock, no I/O. Every item added comes out in exactly one bin; no bin is over a limit; no bin is empty.
 */
export class Packer<T> {
  private bins: Bin<T>[] = [];

  constructor(private readonly limits: PackLimits) {}

  /** Bins that are open now. */
  get open(): readonly Bin<T>[] {
    return this.bins;
  }

  /** Adds an item and returns the bins that this closed. */
  add(item: Item<T>): Bin<T>[] {
    const { maxTokens, maxItems, openBins } = this.limits;
    if (item.tokens > maxTokens)
      throw new RangeError(`an item of ${item.tokens} tokens fits no bin of ${maxTokens}; split it first`);
    const closed: Bin<T>[] = [];
    let bin = this.putTightest(item, this.bins);
    if (!bin) {
      if (this.bins.length >= openBins) closed.push(this.closeFullest() as Bin<T>);
      this.bins.push((bin = binOf(item)));
    }
    const full = bin.tokens >= maxTokens * FULL_RATIO || bin.items.length >= maxItems;
    if (full && openBins > 1) closed.push(this.close(bin));
    return closed;
  }

  /** Closes the open bin that has the most tokens. */
  closeFullest(): Bin<T> | undefined {
    const [first, ...others] = this.bins;
    if (!first) return undefined;
    return this.close(others.reduce((best, bin) => (bin.tokens > best.tokens ? bin : best), first));
  }

  /** Closes the bins whose oldest item arrived at `time` or before, filled up with what waits in the others. */
  closeSince(time: number): Bin<T>[] {
    if (!this.bins.some(({ since }) => since <= time)) return [];
    const items = itemsOf(this.bins);
    const closed = this.pack(items.filter(({ at }) => at <= time));
    this.bins = this.pack(
      items.filter(({ at }) => at > time),
      closed,
    );
    while (this.bins.length > this.limits.openBins) closed.push(this.closeFullest() as Bin<T>);
    return closed;
  }

  /** Closes everything, packed anew when that takes fewer bins. */
  flush(): Bin<T>[] {
    const { bins } = this;
    this.bins = [];
    if (bins.length < 2) return bins;
    const packed = this.pack(itemsOf(bins));
    return packed.length < bins.length ? packed : bins;
  }

  private close(bin: Bin<T>): Bin<T> {
    this.bins.splice(this.bins.indexOf(bin), 1);
    return bin;
  }

  /** Puts the item into the bin that it leaves the least room in, and returns that; undefined when it fits none. */
  private putTightest(item: Item<T>, bins: readonly Bin<T>[]): Bin<T> | undefined {
    const { maxTokens, maxItems } = this.limits;
    let best: Bin<T> | undefined;
    for (const bin of bins) {
      const fits = bin.tokens + item.tokens <= maxTokens && bin.items.length < maxItems;
      if (fits && (!best || bin.tokens > best.tokens)) best = bin;
    }
    if (!best) return undefined;
    best.items.push(item);
    best.tokens += item.tokens;
    best.since = Math.min(best.since, item.at);
    return best;
  }

  /** Each item in turn where it leaves the least room, in one of the `first` bins if it can be. Returns the other bins. */
  private pack(items: readonly Item<T>[], first: readonly Bin<T>[] = []): Bin<T>[] {
    const packed: Bin<T>[] = [];
    for (const item of items)
      if (!this.putTightest(item, first) && !this.putTightest(item, packed)) packed.push(binOf(item));
    return packed;
  }
}

function binOf<T>(item: Item<T>): Bin<T> {
  return { items: [item], tokens: item.tokens, since: item.at };
}

/** All items, largest first. */
function itemsOf<T>(bins: readonly Bin<T>[]): Item<T>[] {
  return bins.flatMap(({ items }) => items).sort((a, b) => b.tokens - a.tokens);
}
