import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempFolder {
  path: string;
  remove: () => Promise<void>;
}

/** A new empty folder under the system's temporary folder. */
export async function tempFolder(name = 'test'): Promise<TempFolder> {
  const path = await mkdtemp(join(tmpdir(), `millrace-${name}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Runs `use` with a temporary folder that is gone afterwards. */
export async function withTempFolder<T>(use: (path: string) => T | Promise<T>): Promise<T> {
  const path = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  try {
    return await use(path);
  } finally {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  }
}
