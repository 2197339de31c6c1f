import type { BatchEvent, BatchFile } from '#contracts';
import { shownPath, type LoadedFile } from '#envelope';
import { RetryLater } from '#queue-manager';
import type { ThreadPool } from '#worker-pool';
import { BatchAwayError, PartUnreadError } from './analyzer.errors.js';
import type { BatchItem, BatchItems } from './batch-items.repository.js';
import type { PartOutcome, PartsRead, StaleReason } from './read-parts.thread.js';

export type { StaleReason };

/** A part that is no longer what was counted. It is reported, never sent. */
export interface StaleFile {
  file: BatchFile;
  reason: StaleReason;
}

export interface LoadedBatch {
  id: string;
  totalTokens: number;
  files: (LoadedFile & { file: BatchFile })[];
  stale: StaleFile[];
}

export interface ReadTerms {
  signal?: AbortSignal;
  /** What cannot be read is then set aside, so that it takes no other file with it. */
  lastAttempt?: boolean;
}

const AWAY_RETRY_MS = 10_000;

/**
 * Reads the bytes of a batch's items as they are now, at the places that their rows tell, and sets aside what differs from
 * what was counted. Throws RetryLater when the folders of all of them are away.
 */
export class BatchReader {
  constructor(
    private readonly threads: ThreadPool,
    private readonly items: Pick<BatchItems, 'of'>,
    /** Folder that paths are shown relative to. */
    private readonly base?: string,
  ) {}

  async read(event: BatchEvent, { signal, lastAttempt = false }: ReadTerms = {}): Promise<LoadedBatch> {
    const items = await this.items.of(event);
    const { bytes, outcomes } = await this.threads.run<PartsRead>(items, { ...(signal && { signal }) });
    const reasons = outcomes.map((outcome, index) => staleReason(items[index], outcome, lastAttempt));
    if (reasons.every((reason) => reason === 'away'))
      throw new RetryLater(AWAY_RETRY_MS, new BatchAwayError(event.id, items[0]?.file.path ?? ''));
    return { id: event.id, totalTokens: event.totalTokens, ...this.sorted(items, reasons, bytes) };
  }

  private sorted(
    items: readonly BatchItem[],
    reasons: readonly (StaleReason | null)[],
    bytes: Uint8Array,
  ): Pick<LoadedBatch, 'files' | 'stale'> {
    const sorted: Pick<LoadedBatch, 'files' | 'stale'> = { files: [], stale: [] };
    let at = bytes.byteOffset;
    items.forEach(({ file }, index) => {
      const length = file.end - file.start;
      const reason = reasons[index];
      if (reason) sorted.stale.push({ file, reason });
      else
        sorted.files.push({
          file,
          bytes: Buffer.from(bytes.buffer, at, length),
          path: shownPath(file.path, this.base),
        });
      at += length;
    });
    return sorted;
  }
}

function staleReason(
  item: BatchItem | undefined,
  outcome: PartOutcome,
  lastAttempt: boolean,
): StaleReason | null {
  if (outcome === null) return null;
  if ('stale' in outcome) return outcome.stale;
  if (lastAttempt) return 'unreadable';
  throw new PartUnreadError(item?.file.path ?? '', outcome.error, outcome.message);
}
