import type { BatchEvent, BatchFile } from '#contracts';
import { shownPath, type LoadedFile } from '#envelope';
import type { ThreadPool } from '#worker-pool';
import type { PartsRead, StaleReason } from './read-parts.thread.js';

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

/** Reads the bytes of batches as they are now and sets aside what differs from what was counted. Other errors throw. */
export class BatchReader {
  constructor(
    private readonly threads: ThreadPool,
    /** Folder that paths are shown relative to. */
    private readonly base?: string,
  ) {}

  async read({ id, totalTokens, files }: BatchEvent, signal?: AbortSignal): Promise<LoadedBatch> {
    const { bytes, stale } = await this.threads.run<PartsRead>(files, { ...(signal && { signal }) });
    const loaded: LoadedBatch = { id, totalTokens, files: [], stale: [] };
    let at = bytes.byteOffset;
    files.forEach((file, index) => {
      const length = file.end - file.start;
      const reason = stale[index];
      if (reason) loaded.stale.push({ file, reason });
      else
        loaded.files.push({
          file,
          bytes: Buffer.from(bytes.buffer, at, length),
          path: shownPath(file.path, this.base),
        });
      at += length;
    });
    return loaded;
  }
}
