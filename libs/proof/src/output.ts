import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { queryRows, type Database } from '#database';
import { asCheck, Finding } from './finding.js';
import type { CheckResult } from './verify.js';

/** A batch that was written to a file, as its delivery recorded it. */
export interface WrittenBatch {
  id: string;
  file: string;
  sha256: string;
}

const PAGE = 1_000;
const BATCH_FILE = /^batch-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.\w+$/;

/** Whether the folder that batches were written to holds every one of them, byte by byte, and no batch besides. */
export async function outputChecks(database: Database, folder: string, rows: number): Promise<CheckResult[]> {
  const damaged = new Finding<Record<string, unknown>>(rows);
  const stray = new Finding<Record<string, unknown>>(rows);
  const written = new Set<string>();
  for await (const batch of writtenBatches(database)) {
    written.add(basename(batch.file));
    const problem = await problemOf(batch, folder);
    if (problem) damaged.add({ batch: batch.id, file: batch.file, problem });
  }
  for (const name of await readdir(folder).catch(() => []))
    if (BATCH_FILE.test(name) && !written.has(name)) stray.add({ file: join(folder, name) });
  return [
    asCheck(damaged, 'output-as-sent', 'every delivered batch lies in the output as it was written'),
    asCheck(stray, 'no-stray-batch', 'the output holds no batch that was not delivered'),
  ];
}

/** Every batch whose delivery recorded a file and its hash, in pages. */
export async function* writtenBatches(database: Database): AsyncGenerator<WrittenBatch> {
  for (let after = ''; ;) {
    const page = await database.read((manager) =>
      queryRows<{ id: string; answer: string | null }>(
        manager,
        `SELECT id, answer FROM batches WHERE completed_at IS NOT NULL AND id > $1 ORDER BY id LIMIT ${PAGE}`,
        [after],
      ),
    );
    for (const { id, answer } of page) {
      const { target, sha256 } = JSON.parse(answer ?? '{}') as { target?: string; sha256?: string };
      if (target !== undefined && sha256 !== undefined) yield { id, file: target, sha256 };
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = last.id;
  }
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function problemOf({ file, sha256 }: WrittenBatch, folder: string): Promise<string | undefined> {
  if (dirname(file) !== folder) return `was written to ${dirname(file)}, not to ${folder}`;
  try {
    return (await sha256Of(file)) === sha256 ? undefined : 'other bytes than were written';
  } catch (error) {
    return (error as Error).message;
  }
}
