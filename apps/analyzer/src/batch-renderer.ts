import type { ThreadPool } from '#worker-pool';
import { BatchAwayError, PartUnreadError } from './analyzer.errors.js';
import type { OpenBatch } from './open-batches.repository.js';
import type { Rendered, RenderTask } from './render-batch.thread.js';

type RenderTerms = Omit<RenderTask, 'batch' | 'base'> & { signal?: AbortSignal };
export type RenderedBatch = Extract<Rendered, { outcome: 'rendered' }>;

/**
 * Has a thread read the files of a batch as they are now and write its text: one message there and one back. Throws
 * BatchAwayError when the folders of all of them are away.
 */
export class BatchRenderer {
  constructor(
    private readonly threads: ThreadPool,
    private readonly base?: string,
  ) {}

  async render(batch: OpenBatch, { signal, ...terms }: RenderTerms): Promise<RenderedBatch> {
    const task: RenderTask = { batch, base: this.base, ...terms };
    const rendered = await this.threads.run<Rendered>(task, { ...(signal && { signal }) });
    switch (rendered.outcome) {
      case 'rendered':
        return rendered;
      case 'away':
        throw new BatchAwayError(batch.id, rendered.path);
      case 'unread':
        throw new PartUnreadError(rendered.path, rendered.error, rendered.message);
    }
  }
}
