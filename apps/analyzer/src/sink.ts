import type { Health } from '#service';
import type { LoadedBatch } from './batch-reader.js';

export const SINK = Symbol('sink');

/**
 * Where batches go. `deliver` may be called again for the same batch after a crash or a failure, so a sink makes its
 * effect idempotent by the batch's id. It throws when the batch was not delivered, RetryLater when the world is at fault.
 */
export interface Sink {
  /** Checks what it needs before the first batch; throws an error that names the cure. */
  prepare(): Promise<void>;
  deliver(batch: LoadedBatch, signal: AbortSignal): Promise<SinkResult>;
  /** Down while nothing can be delivered and only a person can change that. */
  health?(): Health;
}

export interface SinkResult {
  /** What the analysis said, if anything; kept with every file of the batch. */
  result?: unknown;
  /** Where the batch went, for the log. */
  target: string;
}
