import type { LoadedBatch } from './batch-reader.js';

export const SINK = Symbol('sink');

/**
 * Where batches go. `deliver` may be called again for the same batch after a crash or a failure, so a sink makes its
 * effect idempotent by the batch's id. It throws BatchRefusedError when this batch will never be taken, DestinationAwayError
 * when none is taken now.
 */
export interface Sink {
  /** Where batches go, as people may see it: no secrets. */
  readonly target: string;
  deliver(batch: LoadedBatch, signal: AbortSignal): Promise<SinkResult>;
}

export interface SinkResult {
  /** What the analysis said, if anything; kept with the batch. */
  result?: unknown;
  /** Where the batch went, for the log. */
  target: string;
}
