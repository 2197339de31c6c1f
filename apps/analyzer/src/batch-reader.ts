import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { BatchEvent, BatchFile } from '#contracts';
import { shownPath, type LoadedFile } from '#envelope';
import { errorCode } from '#service';

export type StaleReason = 'changed' | 'vanished';

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

// A name may have become a link or a FIFO since it was counted: do not follow the one nor wait for the other.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const GONE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO'];

/** Reads the bytes of a batch as they are now and sets aside what differs from what was counted. Other errors throw. */
export async function readBatch(batch: BatchEvent, base?: string): Promise<LoadedBatch> {
  const loaded: LoadedBatch = { id: batch.id, totalTokens: batch.totalTokens, files: [], stale: [] };
  for (const file of batch.files) {
    const bytes = await readPart(file);
    if (typeof bytes === 'string') loaded.stale.push({ file, reason: bytes });
    else loaded.files.push({ file, bytes, path: shownPath(file.path, base) });
  }
  return loaded;
}

async function readPart(file: BatchFile): Promise<Buffer | StaleReason> {
  const path = file.pathBytes === undefined ? file.path : Buffer.from(file.pathBytes, 'base64');
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, OPEN_FLAGS);
    const bytes = await readRange(handle, file);
    return bytes && sha256(bytes) === file.hash ? bytes : 'changed';
  } catch (error) {
    if (GONE.includes(errorCode(error) ?? '')) return 'vanished';
    throw error;
  } finally {
    await handle?.close();
  }
}

async function readRange(
  handle: FileHandle,
  { start, end, part, parts }: BatchFile,
): Promise<Buffer | undefined> {
  const { size, mode } = await handle.stat();
  const isFile = (mode & constants.S_IFMT) === constants.S_IFREG;
  if (!isFile || size < end || (part === parts && size !== end)) return undefined;
  const bytes = Buffer.allocUnsafe(end - start);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, start + filled);
    if (bytesRead === 0) return undefined;
    filled += bytesRead;
  }
  return bytes;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
