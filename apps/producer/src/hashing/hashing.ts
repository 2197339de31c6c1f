import type { Work } from '#database';
import { Coalescer, type Clock } from '#service';
import type { ThreadPool, WorkerPool } from '#worker-pool';
import type { FileRows } from '../registration/files.repository.js';
import type { QueueableFile } from '../registration/registration.js';
import { plus } from '../registration/scan-counters.js';
import type { CurrentScan } from '../registration/scans.repository.js';
import { FileHashingWorkItem, type HashResult } from './file-hashing.js';
import type { HashAlgorithm } from './hash-file.js';
import type { Tree } from './hash-task.js';
import { recordHashes } from './hash-recorder.js';
import type { HashableFile, HashRows } from './hash.repository.js';
import { InFlight } from './in-flight.js';

export interface HashingOptions {
  scan: CurrentScan;
  scope: 'candidates' | 'all';
  algorithm: HashAlgorithm;
  tree: Tree;
  pool: Pick<WorkerPool, 'submit' | 'idle'>;
  threads: Pick<ThreadPool, 'run' | 'threads'>;
  rows: { files: FileRows; hashes: HashRows };
  write: <T>(work: Work<T>) => Promise<T>;
  clock: Clock;
  /** Files that turned out to be another than the walk saw. */
  enqueue: (files: readonly QueueableFile[]) => Promise<void>;
  nonFatal: (path: string, code: string, message: string) => void;
  check: () => void;
  signal: AbortSignal;
}

/** While one transaction commits, the results of other items gather for the next. */
type HashWriter = Coalescer<readonly HashResult[], void>;

const PAGE = 2_000;
const ITEM_FILES = 1_000;
// One is hashed and one waits for its thread; beside these, one transaction commits while another gathers.
const ITEMS_PER_THREAD = 2;
// Hashes come in no order, so each transaction writes most pages of their index, however few they are.
const ITEMS_PER_WRITE = 5;
const ITEMS_IN_WRITING = 2 * ITEMS_PER_WRITE;
const ITEM_BYTES = 4 * 1024 * 1024;

/**
 * Hashes what has no hash yet. Stored hashes are progress enough: a run that is cut off goes on with the files that have
 * none.
 */
export async function hashFiles(options: HashingOptions): Promise<void> {
  const { scan, scope, rows, pool, threads, signal } = options;
  const inFlight = new InFlight(ITEMS_PER_THREAD * threads.threads + ITEMS_IN_WRITING, signal);
  const writer = writerOf(options);
  const sizes = scope === 'candidates' ? await rows.hashes.sharedSizes(scan.rootId) : undefined;
  for await (const page of unhashedPages(options)) {
    const wanted = sizes ? page.filter(({ stat }) => sizes.has(stat.size)) : page;
    for (const files of groups(wanted))
      await pool.submit(await inFlight.admit(itemFor(files, writer, options)));
    options.check();
    if (signal.aborted) break;
  }
  signal.throwIfAborted();
  await pool.idle();
  options.check();
}

/** The next page is read while the files of one are hashed. */
async function* unhashedPages({ scan, algorithm, rows }: HashingOptions): AsyncGenerator<HashableFile[]> {
  const pageAfter = (id: number): Promise<HashableFile[]> =>
    rows.hashes.unhashed(scan.rootId, algorithm, id, PAGE);
  let next = pageAfter(0);
  for (let page = await next; page.length > 0; page = await next) {
    next = pageAfter(page.reduce((last, { id }) => Math.max(last, id), 0));
    // Its error is thrown where the page is awaited, if anybody still does.
    next.catch(() => {});
    yield page;
  }
}

function itemFor(
  files: readonly HashableFile[],
  writer: HashWriter,
  options: HashingOptions,
): FileHashingWorkItem {
  const { threads, algorithm, tree, nonFatal } = options;
  return new FileHashingWorkItem(files, {
    threads,
    algorithm,
    tree,
    nonFatal,
    record: (results) => writer.add(results),
  });
}

function writerOf(options: HashingOptions): HashWriter {
  return new Coalescer({
    work: (items) => record(items.flat(), options),
    limit: ITEMS_PER_WRITE,
    blames: () => false,
  });
}

async function record(results: readonly HashResult[], options: HashingOptions): Promise<void> {
  const { scan, rows, algorithm, clock, write, enqueue } = options;
  const mark = { scanId: scan.id, rootId: scan.rootId, now: clock.now() };
  const queueable = await write((tx) => recordHashes(tx, rows, results, { mark, algorithm }));
  const sizes = results.flatMap(({ outcome }) => (outcome.state === 'hashed' ? [outcome.stat.size] : []));
  const hashedBytes = sizes.reduce((sum, size) => sum + size, 0);
  scan.counters = plus(scan.counters, { hashed: sizes.length, hashedBytes, changed: queueable.length });
  await enqueue(queueable);
}

/** Many small files or one large one an item. */
export function groups(files: readonly HashableFile[]): HashableFile[][] {
  const result: HashableFile[][] = [];
  let current: HashableFile[] = [];
  let bytes = 0;
  for (const file of files) {
    if (current.length === ITEM_FILES || (current.length > 0 && bytes + file.stat.size > ITEM_BYTES)) {
      result.push(current);
      current = [];
      bytes = 0;
    }
    current.push(file);
    bytes += file.stat.size;
  }
  if (current.length > 0) result.push(current);
  return result;
}
