import {
  assertFits,
  fits,
  newBin,
  put,
  type Bin,
  type Item,
  type Packer,
  type PackLimits,
} from './packer.js';

export interface BestFitLimits extends PackLimits {
  openBins: number;
}

// What is left of a bin this full is less than a usual file needs: waiting for a crumb would hold up the rest.
const FULL_RATIO = 0.99;

/**
 * Several open bins; an item goes where it leaves the least room. When it fits nowhere and no bin may be opened, the
 * fullest is closed. Flushing packs what is open anew, largest first, so that the end of a run leaves few bins.
 */
export class BestFitPacker<T> implements Packer<T> {
  private bins: Bin<T>[] = [];

  constructor(private readonly limits: BestFitLimits) {}

  get open(): readonly Bin<T>[] {
    return this.bins;
  }

  add(item: Item<T>): Bin<T>[] {
    assertFits(item, this.limits);
    const target = tightest(this.bins, item, this.limits);
    if (target) {
      put(target, item);
      return this.isFull(target) ? [this.close(target)] : [];
    }
    const closed = this.bins.length >= this.limits.openBins ? this.closeFullest() : undefined;
    const bin = newBin(item);
    this.bins.push(bin);
    const full = this.isFull(bin) ? [this.close(bin)] : [];
    return closed ? [closed, ...full] : full;
  }

  closeFullest(): Bin<T> | undefined {
    const [first, ...others] = this.bins;
    if (!first) return undefined;
    return this.close(others.reduce((best, bin) => (bin.tokens > best.tokens ? bin : best), first));
  }

  /** The bins that are due are filled up with what waits in the others before they are closed. */
  closeSince(time: number): Bin<T>[] {
    if (!this.bins.some(({ since }) => since <= time)) return [];
    const items = itemsOf(this.bins);
    const closed = pack(
      items.filter(({ at }) => at <= time),
      this.limits,
    );
    this.bins = pack(
      items.filter(({ at }) => at > time),
      this.limits,
      closed,
    );
    while (this.bins.length > this.limits.openBins) closed.push(this.closeFullest() as Bin<T>);
    return closed;
  }

  flush(): Bin<T>[] {
    const bins = this.bins;
    this.bins = [];
    return repack(bins, this.limits);
  }

  private close(bin: Bin<T>): Bin<T> {
    this.bins.splice(this.bins.indexOf(bin), 1);
    return bin;
  }

  private isFull({ tokens, items }: Bin<T>): boolean {
    return tokens >= this.limits.maxTokens * FULL_RATIO || items.length >= this.limits.maxItems;
  }
}

/** The bin that the item fits and leaves the least room in. */
function tightest<T>(bins: readonly Bin<T>[], item: Item<T>, limits: PackLimits): Bin<T> | undefined {
  let best: Bin<T> | undefined;
  for (const bin of bins) if (fits(bin, item, limits) && (!best || bin.tokens > best.tokens)) best = bin;
  return best;
}

/** The same items in as few bins as we can; the bins as they were when that saves none. */
function repack<T>(bins: Bin<T>[], limits: PackLimits): Bin<T>[] {
  if (bins.length < 2) return bins;
  const packed = pack(itemsOf(bins), limits);
  return packed.length < bins.length ? packed : bins;
}

/** All items, largest first. */
function itemsOf<T>(bins: readonly Bin<T>[]): Item<T>[] {
  return bins.flatMap(({ items }) => items).sort((a, b) => b.tokens - a.tokens);
}

/** Each item in turn where it leaves the least room, in one of the `first` bins if it can be. Returns the other bins. */
function pack<T>(items: readonly Item<T>[], limits: PackLimits, first: readonly Bin<T>[] = []): Bin<T>[] {
  const packed: Bin<T>[] = [];
  for (const item of items) {
    const target = tightest(first, item, limits) ?? tightest(packed, item, limits);
    if (target) put(target, item);
    else packed.push(newBin(item));
  }
  return packed;
}
