interface Link<T> {
  readonly value: T;
  next: Link<T> | undefined;
}

/** First in, first out, each step in constant time whatever the length. */
export class Fifo<T> {
  private head: Link<T> | undefined;
  private tail: Link<T> | undefined;
  private length = 0;

  get size(): number {
    return this.length;
  }

  push(value: T): void {
    const link: Link<T> = { value, next: undefined };
    if (this.tail) this.tail.next = link;
    else this.head = link;
    this.tail = link;
    this.length++;
  }

  shift(): T | undefined {
    const link = this.head;
    if (!link) return undefined;
    this.head = link.next;
    if (!this.head) this.tail = undefined;
    this.length--;
    return link.value;
  }

  /** Takes everything out, oldest first. */
  drain(): T[] {
    const values: T[] = [];
    while (this.length > 0) values.push(this.shift() as T);
    return values;
  }
}
