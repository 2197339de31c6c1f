import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { formatOf, renderBatch, type FormatName } from '#envelope';
import { errorCode, faultPoint } from '#service';
import { DestinationAwayError } from './analyzer.errors.js';
import type { LoadedBatch } from './batch-reader.js';
import type { Sink, SinkResult } from './sink.js';

export interface WriteSinkOptions {
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

  constructor(private readonly options: WriteSinkOptions) {
    this.target = resolve(options.directory);
  }

  async deliver(batch: LoadedBatch): Promise<SinkResult> {
    try {
      if (batch.files.length === 0) return await this.takeBack(batch);
      await this.prepare();
      const written = await this.write(batch);
      return { target: written.target, result: written };
    } catch (error) {
      this.prepared = false;
      throw this.explained(error);
    }
  }

  /** What an earlier try wrote, whose recording was lost, is delivered nowhere. */
  private async takeBack({ id }: LoadedBatch): Promise<SinkResult> {
    await rm(this.fileOf(id), { force: true });
    return { target: 'nothing left to write' };
  }

  private fileOf(id: string): string {
    return join(this.target, batchFileName(id, this.options.format));
  }

  /** Where it lies and its hash are kept with the batch: `verify --deep` compares. */
  private async write({ id, totalTokens, files }: LoadedBatch): Promise<{ target: string; sha256: string }> {
    const { format, shared } = this.options;
    const target = this.fileOf(id);
    const aside = join(this.target, temporaryName(this.options.mark()));
    try {
      const pieces = renderBatch(format, id, totalTokens, files);
      await writeSynced(aside, pieces, shared ? 0o644 : 0o600);
      await faultPoint('analyzer.before-rename');
      await rename(aside, target);
      await syncDirectory(this.target);
      return { target, sha256: hashOf(pieces) };
    } catch (error) {
      await rm(aside, { force: true }).catch(() => {});
      throw error;
    }
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

function hashOf(pieces: readonly Buffer[]): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
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

async function writeSynced(path: string, pieces: readonly Buffer[], mode: number): Promise<void> {
  const handle = await open(path, 'wx', mode);
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
