import type { WorkerPool, WorkItem } from '#worker-pool';

/** The items that one submitter has in a pool, waiting ones included: it bounds them, so that memory stays flat. */
export class InFlight {
  count = 0;
  private wake: () => void = () => {};

  constructor(
    private readonly pool: Pick<WorkerPool, 'submit'>,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => this.wake(), { once: true });
  }

  /** `succeeded` is told when it has ended well. */
  async submit(item: WorkItem, succeeded: () => void = () => {}): Promise<void> {
    this.count++;
    const process = async (signal: AbortSignal): Promise<void> => {
      try {
        await item.process(signal);
        succeeded();
      } finally {
        this.count--;
        this.wake();
      }
    };
    await this.pool.submit({ id: item.id, process });
  }

  /** Asks again whenever an item has ended. After an abort nothing is waited for: abandoned items never end. */
  async until(reached: () => boolean): Promise<void> {
    while (!reached() && !this.signal.aborted)
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
  }
}
