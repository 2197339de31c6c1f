export const PACKINGS = ['best-fit', 'sequential'] as const;
export type Packing = (typeof PACKINGS)[number];

export interface PackLimits {
  /** Tokens that the items of one bin may cost together. */
  maxTokens: number;
  maxItems: number;
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

/**
 * Puts items into bins. Pure: no clock, no I/O.
 * Guarantees: every item added comes out in exactly one bin; no bin is over a limit; no bin is empty.
 */
export interface Packer<T> {
  /** Bins that are open now. */
  readonly open: readonly Bin<T>[];
  /** Adds an item and returns the bins that this closed. */
  add(item: Item<T>): Bin<T>[];
  /** Closes the open bin that has the most tokens. */
  closeFullest(): Bin<T> | undefined;
  /** Closes the bins whose oldest item arrived at `time` or before. */
  closeSince(time: number): Bin<T>[];
  /** Closes everything, in as few bins as we can. */
  flush(): Bin<T>[];
}

export function newBin<T>(item: Item<T>): Bin<T> {
  return { items: [item], tokens: item.tokens, since: item.at };
}

export function fits<T>(bin: Bin<T>, item: Item<T>, { maxTokens, maxItems }: PackLimits): boolean {
  return bin.tokens + item.tokens <= maxTokens && bin.items.length < maxItems;
}

export function put<T>(bin: Bin<T>, item: Item<T>): void {
  bin.items.push(item);
  bin.tokens += item.tokens;
  bin.since = Math.min(bin.since, item.at);
}

/** A limit below which nothing could be packed at all, or an item that fits no bin: a fault of the caller. */
export function assertFits<T>(item: Item<T>, { maxTokens, maxItems }: PackLimits): void {
  if (item.tokens > maxTokens || maxItems < 1)
    throw new RangeError(`an item of ${item.tokens} tokens fits no bin of ${maxTokens}; split it first`);
}
