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

/** One open bin: the item that would exceed a limit closes it and starts the next. Items keep their order. */
export class SequentialPacker<T> implements Packer<T> {
  private current: Bin<T> | undefined;

  constructor(private readonly limits: PackLimits) {}

  get open(): readonly Bin<T>[] {
    return this.current ? [this.current] : [];
  }

  add(item: Item<T>): Bin<T>[] {
    assertFits(item, this.limits);
    if (this.current && fits(this.current, item, this.limits)) {
      put(this.current, item);
      return [];
    }
    const closed = this.flush();
    this.current = newBin(item);
    return closed;
  }

  closeFullest(): Bin<T> | undefined {
    return this.flush()[0];
  }

  closeSince(time: number): Bin<T>[] {
    return this.current && this.current.since <= time ? this.flush() : [];
  }

  flush(): Bin<T>[] {
    const closed = this.current ? [this.current] : [];
    this.current = undefined;
    return closed;
  }
}
