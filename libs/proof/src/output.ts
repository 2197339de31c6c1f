import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { BATCH_SUPERSEDED, formerFolders, readPipeline, type Database } from '#database';
import { asCheck, Finding, type CheckResult } from './checks.js';
import { pages } from './pages.js';

/** A batch that was written to a file, as its delivery recorded it. */
interface WrittenBatch {
  id: string;
  file: string;
  sha256: string;
  /** Nothing of it is valid any more; its file is removed, sooner or later. */
  superseded: boolean;
}

const PAGE = 1_000;
const BATCH_FILE = /^batch-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.\w+$/;

/** Whether the folder that batches were written to holds every one of them, byte by byte, and no batch besides. */
export async function outputChecks(database: Database, folder: string, rows: number): Promise<CheckResult[]> {
  const damaged = new Finding<Record<string, unknown>>(rows);
  const stray = new Finding<Record<string, unknown>>(rows);
  const written = new Set<string>();
  const placeOf = await batchPlaces(database, folder);
  for await (const batch of writtenBatches(database)) {
    written.add(basename(batch.file));
    const problem = batch.superseded ? undefined : await problemOf(batch, folder, placeOf(batch.file));
    if (problem) damaged.add({ batch: batch.id, file: batch.file, problem });
  }
  for (const name of await readdir(folder).catch(() => []))
    if (BATCH_FILE.test(name) && !written.has(name)) stray.add({ file: join(folder, name) });
  return [
    asCheck(damaged, 'output-as-sent', 'every delivered batch lies in the output as it was written'),
    asCheck(stray, 'no-stray-batch', 'the output holds no batch that was not delivered'),
  ];
}

/** The folder that batches go to, unless they are posted to an address. */
export async function outputFolder(database: Database): Promise<string | undefined> {
  const destination = (await database.read(readPipeline))?.destination;
  return destination?.sink === 'write' ? destination.address : undefined;
}

/** Every batch whose delivery recorded a file and its hash, in pages. */
export async function* writtenBatches(database: Database): AsyncGenerator<WrittenBatch> {
  const page = (after: string): Promise<{ id: string; answer: string | null; superseded: number }[]> =>
    database.rows(
      `SELECT b.id, b.answer, CASE WHEN ${BATCH_SUPERSEDED} THEN 1 ELSE 0 END AS superseded FROM batches b
         WHERE b.completed_at IS NOT NULL AND b.id > $1 ORDER BY b.id LIMIT ${PAGE}`,
      [after],
    );
  for await (const batches of pages(page, '', PAGE))
    for (const { id, answer, superseded } of batches) {
      const { target, sha256 } = JSON.parse(answer ?? '{}') as { target?: string; sha256?: string };
      if (target !== undefined && sha256 !== undefined)
        yield { id, file: target, sha256, superseded: superseded === 1 };
    }
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/**
 * Where a batch may lie by the file it was written to: in the folder of the destination, or there if that was once the
 * destination. After a move batches may have moved along, or have stayed where they were.
 */
export async function batchPlaces(database: Database, folder?: string): Promise<(file: string) => string> {
  const former = new Set(await database.read(formerFolders));
  return (file) => {
    const moved = folder === undefined ? file : join(folder, basename(file));
    return moved !== file && former.has(dirname(file)) && !existsSync(moved) ? file : moved;
  };
}

async function problemOf(
  { file, sha256 }: WrittenBatch,
  folder: string,
  place: string,
): Promise<string | undefined> {
  try {
    return (await sha256Of(place)) === sha256 ? undefined : 'other bytes than were written';
  } catch (error) {
    const from = dirname(file) === folder ? '' : `was written to ${dirname(file)}, not to ${folder}: `;
    return `${from}${(error as Error).message}`;
  }
}
