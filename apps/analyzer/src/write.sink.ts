import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { formatOf, renderBatch, type FormatName } from '#envelope';
import { RetryLater } from '#queue-manager';
import { down, errorCode, faultPoint, UP, type Health } from '#service';
import type { LoadedBatch } from './batch-reader.js';
import type { Sink, SinkResult } from './sink.js';

const DISK_FULL = ['ENOSPC', 'EDQUOT'];
const DISK_FULL_RETRY_MS = 10_000;
const TEMPORARY = '.part';

/**
 * Writes each batch to one file named after its id. A file is there whole or not at all: it is written aside, synced
 * and renamed. Writing a batch again replaces it by the same bytes.
 */
export class WriteSink implements Sink {
  private readonly directory: string;
  private state: Health = UP;

  constructor(
    directory: string,
    private readonly format: FormatName,
  ) {
    this.directory = resolve(directory);
  }

  async prepare(): Promise<void> {
    await mkdir(this.directory, { recursive: true });
    // What a killed process left half-written; nobody else's is that old.
    for (const name of await readdir(this.directory))
      if (name.endsWith(TEMPORARY)) await this.removeIfAbandoned(name);
  }

  async deliver(batch: LoadedBatch): Promise<SinkResult> {
    if (batch.files.length === 0) return { target: 'nothing left to write' };
    const target = join(this.directory, batchFileName(batch.id, this.format));
    const aside = `${target}.${randomBytes(4).toString('hex')}${TEMPORARY}`;
    try {
      await writeSynced(aside, renderBatch(this.format, batch.id, batch.totalTokens, batch.files));
      await faultPoint('analyzer.before-rename');
      await rename(aside, target);
      await syncDirectory(this.directory);
    } catch (error) {
      await rm(aside, { force: true });
      if (!DISK_FULL.includes(errorCode(error) ?? '')) throw error;
      this.state = down(
        `no space left to write batches to ${this.directory}; free some, or give it a larger disk`,
      );
      throw new RetryLater(DISK_FULL_RETRY_MS, error);
    }
    this.state = UP;
    return { target };
  }

  health(): Health {
    return this.state;
  }

  private async removeIfAbandoned(name: string): Promise<void> {
    const path = join(this.directory, name);
    const handle = await open(path).catch(() => undefined);
    const age = handle ? Date.now() - (await handle.stat()).mtimeMs : 0;
    await handle?.close();
    if (age > 60_000) await rm(path, { force: true });
  }
}

export function batchFileName(batchId: string, format: FormatName): string {
  return `batch-${batchId.replace(/[^\w-]/g, '_')}.${formatOf(format).extension}`;
}

async function writeSynced(path: string, pieces: readonly Buffer[]): Promise<void> {
  const handle = await open(path, 'wx', 0o644);
  try {
    // A disk that gets full on the way shows as a short write; the rest then meets the error.
    const { bytesWritten } = await handle.writev(pieces.filter((piece) => piece.length > 0));
    if (bytesWritten < pieces.reduce((sum, piece) => sum + piece.length, 0))
      await handle.appendFile(Buffer.concat(pieces).subarray(bytesWritten));
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** A rename survives a power cut only when its folder is synced too. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
