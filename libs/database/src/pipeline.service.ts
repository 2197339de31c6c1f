import type { Destination } from '#contracts';
import type { PipelineMark, Service } from '#service';
import type { Database } from './database.service.js';
import { claimOutput } from './output-owner.js';
import { joinPipeline, type PipelineRow } from './pipeline.repository.js';

// 48 random bits tell the pipelines of one Redis apart; every key carries them.
const MARK_DIGITS = 12;

/**
 * Which pipeline this process works for: that of its database. It starts right after the database and before anything
 * that holds keys in Redis. A process that is configured for another destination ends here, before any work, with exit code 78.
 */
export class Pipeline implements Service, PipelineMark {
  readonly name = 'pipeline';
  private joined: PipelineRow | undefined;

  constructor(
    private readonly database: Database,
    private readonly destination?: Destination,
  ) {}

  async start(): Promise<void> {
    this.joined ??= await joinPipeline(this.database, this.destination);
    if (this.destination?.sink === 'write')
      await claimOutput(this.destination.address, {
        pipeline: this.joined.id,
        database: this.database.place,
      });
  }

  async stop(): Promise<void> {}

  get row(): PipelineRow {
    if (!this.joined) throw new Error('the pipeline is not known before it was started');
    return this.joined;
  }

  /** What the names of this pipeline's keys in Redis begin with, so that pipelines on one Redis never meet. */
  prefixed(base: string): string {
    return pipelinePrefix(base, this.row.id);
  }
}

export function pipelinePrefix(base: string, id: string): string {
  return `${base}${base.endsWith(':') ? '' : ':'}${id.replaceAll('-', '').slice(0, MARK_DIGITS)}`;
}
