import { Coalescer } from '#service';
import { groupsOf } from '../file-jobs.js';
import { InFlight } from '../in-flight.js';
import type { HashableFile } from '../registration/files.repository.js';
import { plus } from '../registration/scan-counters.js';
import type { Scan } from '../scan.js';
import { FileHashingWorkItem, type HashResult, type HashWriter } from './file-hashing.js';
import { recordHashes } from './hash-recorder.js';

const PAGE = 2_000;
const ITEM_FILES = 1_000;
const ITEM_BYTES = 4 * 1024 * 1024;
// One is hashed and one waits for its thread; beside these, one transaction commits while another gathers.
const ITEMS_PER_THREAD = 2;
// Hashes come in no order, so each transaction writes most pages of their index, however few they are.
const ITEMS_PER_WRITE = 5;
const ITEMS_IN_WRITING = 2 * ITEMS_PER_WRITE;

/**
 * Hashes what has no hash yet, if the scan was asked to. Stored hashes are progress enough: a run that is cut off goes on
 * with the files that have none.
 */
export async function hashFiles(scan: Scan): Promise<void> {
  const { HASH_SCOPE: scope, SCAN_MODE: mode } = scan.parts.config;
  if (scope === 'none' || mode === 'folders') return;
  scan.hashing = { begun: scan.parts.clock.monotonic() };
  const wanted = await wantedSizes(scan);
  const inFlight = new InFlight(scan.pool, scan.signal);
  const most = ITEMS_PER_THREAD * scan.parts.threads.threads + ITEMS_IN_WRITING;
  const writer = writerOf(scan);
  for await (const page of unhashedPages(scan))
    for (const files of groups(page.filter(wanted))) {
      await inFlight.until(() => inFlight.count < most);
      scan.checkFailures();
      await inFlight.submit(new FileHashingWorkItem(files, scan, writer));
    }
  await scan.pool.idle();
  scan.checkFailures();
  scan.hashing.ended = scan.parts.clock.monotonic();
}

async function wantedSizes({ parts, row }: Scan): Promise<(file: HashableFile) => boolean> {
  if (parts.config.HASH_SCOPE === 'all') return () => true;
  const shared = await parts.rows.files.sharedSizes(row.rootId);
  return ({ size }) => shared.has(size);
}

/** The next page is read while the files of one are hashed. */
async function* unhashedPages({ parts, row }: Scan): AsyncGenerator<HashableFile[]> {
  const pageAfter = (id: number): Promise<HashableFile[]> =>
    parts.rows.files.unhashed(row.rootId, parts.config.HASH_ALGORITHM, id, PAGE);
  let next = pageAfter(0);
  for (let page = await next; page.length > 0; page = await next) {
    next = pageAfter(page.reduce((last, { id }) => Math.max(last, id), 0));
    // Its error is thrown where the page is awaited, if anybody still does.
    next.catch(() => {});
    yield page;
  }
}

/** While one transaction commits, the results of other items gather for the next. */
function writerOf(scan: Scan): HashWriter {
  return new Coalescer({
    work: (items) => record(items.flat(), scan),
    limit: ITEMS_PER_WRITE,
    blames: () => false,
  });
}

async function record(results: readonly HashResult[], scan: Scan): Promise<void> {
  const { parts, row } = scan;
  const context = { mark: scan.mark(), algorithm: parts.config.HASH_ALGORITHM };
  const queueable = await parts.write((tx) => recordHashes(tx, parts.rows.files, results, context));
  const sizes = results.flatMap(({ outcome }) => (outcome.state === 'hashed' ? [outcome.stat.size] : []));
  const hashedBytes = sizes.reduce((sum, size) => sum + size, 0);
  row.counters = plus(row.counters, { hashed: sizes.length, hashedBytes, changed: queueable.length });
  await scan.enqueuer.add(queueable);
}

/** Many small files or one large one an item. */
export function groups(files: readonly HashableFile[]): HashableFile[][] {
  return groupsOf(files, { items: ITEM_FILES, bytes: ITEM_BYTES });
}
