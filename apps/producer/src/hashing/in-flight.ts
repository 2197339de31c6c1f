import type { WorkItem } from '#worker-pool';

/** Bounds how many items one submitter has in a pool at once, waiting ones included, so that memory stays flat. */
export class InFlight {
  private count = 0;
  private wake: () => void = () => {};

  constructor(
    private readonly limit: number,
    private readonly signal: AbortSignal,
  ) {}

  /** The item to submit, once there is room for it or nothing matters any more. */
  async admit(item: WorkItem): Promise<WorkItem> {
    while (this.count >= this.limit && !this.signal.aborted) await this.change();
    this.count++;
    return { id: item.id, process: (signal) => item.process(signal).finally(() => this.leave()) };
  }

  private leave(): void {
    this.count--;
    this.wake();
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.signal.removeEventListener('abort', done);
        resolve();
      };
      this.wake = done;
      this.signal.addEventListener('abort', done);
    });
  }
}
