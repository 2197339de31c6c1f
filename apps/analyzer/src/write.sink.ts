import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { formatOf, type FormatName } from '#envelope';
import { Coalescer, errorCode, faultPoint } from '#service';
import { DestinationAwayError } from './analyzer.errors.js';
import type { BatchRenderer } from './batch-renderer.js';
import type { OpenBatch } from './open-batches.repository.js';
import type { Delivery, DeliveryTerms, Sink } from './sink.js';

interface WriteSinkOptions {
  directory: string;
  format: FormatName;
  /** Marks temporary files as this pipeline's own; known when the first batch comes. */
  mark: () => string;
  /** Whether others than this user may read what is written. */
  shared?: boolean;
}

const TEMPORARY = '.part';
const ABANDONED_MS = 60_000;

const CURES: Record<string, string> = {
  ENOSPC: 'no space left; free some, or give it a larger disk',
  EDQUOT: 'its quota is used up; free some, or raise the quota',
  EROFS: 'it is read-only; mount it writable',
  EACCES: 'no permission to write; give this user the folder',
  EPERM: 'no permission to write; give this user the folder',
  ENOTDIR: 'it is not a folder; remove what is in its place',
  EEXIST: 'it is not a folder; remove what is in its place',
};

/**
 * Writes each batch to one file named after its id. A file is there whole or not at all: it is written aside, synced
 * and renamed. Writing a batch again replaces it by the same bytes. Whatever the file system says is no batch's fault.
 */
export class WriteSink implements Sink {
  readonly target: string;
  private prepared = false;
  /** A rename survives a power cut only when its folder is synced too: once for all that came meanwhile. */
  private readonly renames = new Coalescer<void, void>({ work: () => sync(this.target) });

  constructor(
    private readonly renderer: BatchRenderer,
    private readonly options: WriteSinkOptions,
  ) {
    this.target = resolve(options.directory);
  }

  async deliver(batch: OpenBatch, terms: DeliveryTerms): Promise<Delivery> {
    try {
      await this.prepare();
      return await this.write(batch, terms);
    } catch (error) {
      this.prepared = false;
      throw this.explained(error);
    }
  }

  /** Where it lies and its hash are kept with the batch: `verify --deep` compares. */
  private async write(batch: OpenBatch, { signal, lastAttempt }: DeliveryTerms): Promise<Delivery> {
    const { format, shared, mark } = this.options;
    const aside = join(this.target, temporaryName(mark()));
    const file = { path: aside, mode: shared ? 0o644 : 0o600 };
    const task = { signal, lastAttempt, format, file };
    try {
      const { files, stale, sha256 } = await this.renderer.render(batch, task);
      const target = join(this.target, batchFileName(batch.id, format));
      if (files === 0) return await this.takeBack(target, stale);
      await sync(aside);
      await faultPoint('analyzer.before-rename');
      await rename(aside, target);
      await this.renames.add();
      return { files, stale, target, result: { target, sha256 } };
    } catch (error) {
      await rm(aside, { force: true }).catch(() => {});
      throw error;
    }
  }

  /** What an earlier try wrote, whose recording was lost, is delivered nowhere. */
  private async takeBack(target: string, stale: Delivery['stale']): Promise<Delivery> {
    await rm(target, { force: true });
    return { files: 0, stale, target: 'nothing left to write' };
  }

  /** Makes the folder, and clears away what a killed process of this pipeline left half-written; nobody else's. */
  private async prepare(): Promise<void> {
    if (this.prepared) return;
    await mkdir(this.target, { recursive: true, mode: this.options.shared ? 0o755 : 0o700 });
    for (const name of await readdir(this.target))
      if (isTemporaryOf(name, this.options.mark())) await this.removeIfAbandoned(name);
    this.prepared = true;
  }

  private async removeIfAbandoned(name: string): Promise<void> {
    const path = join(this.target, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isFile() && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(path, { force: true });
  }

  private explained(error: unknown): unknown {
    if (!(error instanceof Error) || !('syscall' in error)) return error;
    const code = errorCode(error) ?? '';
    return new DestinationAwayError(`${this.target}: ${CURES[code] ?? error.message}`, { cause: error });
  }
}

/** Not on the threads that write: what waits for the disk holds up no other batch. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A name for what is not whole yet, by which its pipeline knows it again. */
export function temporaryName(mark: string): string {
  return `.millrace-${mark}-${randomBytes(6).toString('hex')}${TEMPORARY}`;
}

function isTemporaryOf(name: string, mark: string): boolean {
  return name.startsWith(`.millrace-${mark}-`) && name.endsWith(TEMPORARY);
}

export function batchFileName(batchId: string, format: FormatName): string {
  return `batch-${batchId.replace(/[^\w-]/g, '_')}.${formatOf(format).extension}`;
}
