/** Lets works of one kind run one after another; those of no kind run at once. */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>();

  async take<T>(kind: string | undefined, work: () => Promise<T>): Promise<T> {
    if (kind === undefined) return work();
    const before = this.last.get(kind);
    const mine = (before ?? Promise.resolve()).catch(() => {}).then(work);
    this.last.set(kind, mine);
    return mine;
  }
}
