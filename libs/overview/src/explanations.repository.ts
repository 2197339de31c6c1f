import { isAbsolute, basename, dirname } from 'node:path';
import { fileJobId, QUEUE } from '#contracts';
import { isIn, listOf, queryRows, type Database, type EntityManager } from '#database';
import type { BatchItemView, BatchView, ConcernedLetter, FileView, TimelineEntry } from '#dlq-client';
import { nameKey, pathKey } from '#files';
import { batchTimeline, explainBatch, explainFile, fileTimeline } from './explain.js';

/** Queues under which letters of files and of batches are kept. */
export interface OriginQueues {
  files: string;
  batches: string;
}

const MAX_ITEMS = 1_000;
const MAX_LETTERS = 50;
const MAX_HISTORY = 500;

export interface FileRow extends Omit<
  FileView,
  'explanation' | 'items' | 'letters' | 'timeline' | 'removed'
> {
  removed: number;
  firstScannedAt: number;
  lastScannedAt: number;
  enqueuedAt: number;
  claimedUntil: number | null;
}

export interface BatchRow extends Omit<
  BatchView,
  'explanation' | 'items' | 'letters' | 'timeline' | 'event' | 'answer'
> {
  answer: string | null;
}

const FILE = `SELECT f.id, f.path, r.path AS root, f.size, f.revision, f.status, f.removed, f.skip_reason AS "skipReason",
    f.error_status AS error, f.duplicate_of AS "duplicateOf", f.token_count AS tokens, f.hash_value AS hash,
    f.worker_id AS worker, f.claims, f.first_scanned_at AS "firstScannedAt", f.last_scanned_at AS "lastScannedAt",
    f.enqueued_at AS "enqueuedAt", f.claimed_until AS "claimedUntil"
  FROM files f JOIN roots r ON r.id = f.root_id`;

const BATCH = `SELECT id, total_tokens AS "totalTokens", max_tokens AS "maxTokens", item_count AS "itemCount",
  created_by AS "createdBy", created_at AS "createdAt", published_at AS "publishedAt", completed_at AS "completedAt", answer
  FROM batches`;

const ITEM = `SELECT i.file_id AS "fileId", f.path, i.revision, i.part, i.parts, i.tokens, i.batch_id AS "batchId", a.outcome,
    a.analyzed_at AS "endedAt"
  FROM batch_items i JOIN files f ON f.id = i.file_id
  LEFT JOIN analyses a ON a.file_id = i.file_id AND a.revision = i.revision AND a.part = i.part`;

/** What the tables know of one file or one batch, from its first sight to its end. Every look is by a key. */
export class Explanations {
  constructor(
    private readonly database: Database,
    private readonly queues: OriginQueues = { files: QUEUE.filesToBatch, batches: QUEUE.fileAnalysis },
  ) {}

  file(id: number): Promise<FileView | undefined> {
    return this.database.read(async (manager) => {
      const [row] = await queryRows<FileRow>(manager, `${FILE} WHERE f.id = $1`, [id]);
      return row && this.fileView(manager, row);
    });
  }

  /** By its absolute path, as a scan has spelt it. */
  async fileAt(path: string): Promise<FileView | undefined> {
    if (!isAbsolute(path)) return undefined;
    return this.database.read(async (manager) => {
      const [row] = await queryRows<FileRow>(
        manager,
        `${FILE} WHERE f.name = $1 AND f.folder_id = (SELECT d.id FROM folders d WHERE d.path_key = $2)`,
        [nameKey(basename(path)), pathKey(dirname(path))],
      );
      return row && this.fileView(manager, row);
    });
  }

  /** By its id, or by enough of its beginning. */
  batch(id: string): Promise<BatchView | undefined> {
    return this.database.read(async (manager) => {
      const [row] = await queryRows<BatchRow>(manager, `${BATCH} WHERE id = $1`, [id]);
      return row && this.batchView(manager, row);
    });
  }

  /** The ids that begin so: none, one, or two when there are more. */
  batchesLike(prefix: string): Promise<string[]> {
    return this.database.read(async (manager) => {
      const rows = await queryRows<{ id: string }>(
        manager,
        'SELECT id FROM batches WHERE substr(id, 1, $2) = $1 ORDER BY id LIMIT 2',
        [prefix, prefix.length],
      );
      return rows.map(({ id }) => id);
    });
  }

  private async fileView(manager: EntityManager, row: FileRow): Promise<FileView> {
    const { firstScannedAt: _f, lastScannedAt: _l, enqueuedAt: _e, claimedUntil: _c, ...facts } = row;
    const items = await queryRows<BatchItemView>(
      manager,
      `${ITEM} WHERE i.file_id = $1 ORDER BY i.revision DESC, i.part LIMIT ${MAX_ITEMS}`,
      [row.id],
    );
    const batches = await this.batchesOf(manager, items);
    const revisions = Array.from({ length: Math.min(row.revision, MAX_LETTERS) }, (_, n) => row.revision - n);
    const jobs = revisions.map((revision) => fileJobId({ id: row.id, revision }));
    const letters = [
      ...(await this.lettersOf(manager, this.queues.files, jobs)),
      ...(await this.lettersOf(
        manager,
        this.queues.batches,
        batches.map(({ id }) => `e-${id}`),
      )),
    ];
    const told = { row, items, batches, letters };
    return {
      ...{ ...facts, removed: row.removed === 1, items, letters },
      explanation: explainFile(told),
      timeline: ordered([...fileTimeline(told), ...(await this.history(manager, letters))]),
    };
  }

  private async batchView(manager: EntityManager, row: BatchRow): Promise<BatchView> {
    const items = await queryRows<BatchItemView>(
      manager,
      `${ITEM} WHERE i.batch_id = $1 ORDER BY f.path, i.part LIMIT ${MAX_ITEMS}`,
      [row.id],
    );
    const [event] = await queryRows<NonNullable<BatchView['event']>>(
      manager,
      'SELECT status, attempts, last_error AS "lastError" FROM outbox WHERE id = $1',
      [row.id],
    );
    const letters = await this.lettersOf(manager, this.queues.batches, [`e-${row.id}`]);
    const told = { row, event: event ?? null, items, letters };
    return {
      ...{ ...row, answer: row.answer === null ? null : (JSON.parse(row.answer) as unknown) },
      ...{ event: told.event, items, letters },
      explanation: explainBatch(told),
      timeline: ordered([...batchTimeline(row), ...(await this.history(manager, letters))]),
    };
  }

  private batchesOf(manager: EntityManager, items: readonly BatchItemView[]): Promise<BatchRow[]> {
    const ids = [...new Set(items.map(({ batchId }) => batchId))].slice(0, MAX_LETTERS);
    return queryRows<BatchRow>(manager, `${BATCH} WHERE id ${isIn(manager, 1)} ORDER BY created_at`, [
      listOf(manager, ids),
    ]);
  }

  private async lettersOf(
    manager: EntityManager,
    queue: string,
    jobs: readonly string[],
  ): Promise<ConcernedLetter[]> {
    const rows = await queryRows<ConcernedLetter & { attempts: string }>(
      manager,
      `SELECT id, queue, CASE WHEN resolved_at IS NULL THEN status ELSE 'resolved' END AS status, error_name AS "errorName",
         substr(error_message, 1, 500) AS "errorMessage", attempts, dead_lettered_at AS "deadLetteredAt"
       FROM dead_letters WHERE queue = $1 AND job_id ${isIn(manager, 2)}
       ORDER BY dead_lettered_at DESC, id DESC LIMIT ${MAX_LETTERS}`,
      [queue, listOf(manager, jobs)],
    );
    return rows.map((row) => ({ ...row, attempts: JSON.parse(row.attempts) as ConcernedLetter['attempts'] }));
  }

  private async history(
    manager: EntityManager,
    letters: readonly ConcernedLetter[],
  ): Promise<TimelineEntry[]> {
    const rows = await queryRows<{ at: number; event: string; letter: number; actor: string }>(
      manager,
      `SELECT at, event, letter_id AS letter, actor FROM dead_letter_history
       WHERE letter_id ${isIn(manager, 1, 'bigint')} ORDER BY id LIMIT ${MAX_HISTORY}`,
      [
        listOf(
          manager,
          letters.map(({ id }) => id),
        ),
      ],
    );
    const failed = letters.flatMap(({ id, attempts }) =>
      attempts.flatMap(({ attempt, error, at }) =>
        at === undefined
          ? []
          : [{ at, event: `attempt ${attempt} failed: ${error.slice(0, 200)} (letter ${id})` }],
      ),
    );
    const by = (actor: string): string => (actor === 'system' ? '' : ` by ${actor}`);
    return [
      ...failed,
      ...rows.map(({ at, event, letter, actor }) => ({
        at,
        event: `${event}${by(actor)} (letter ${letter})`,
      })),
    ];
  }
}

const ordered = (entries: readonly TimelineEntry[]): TimelineEntry[] =>
  entries
    .map((entry, n) => ({ entry, n }))
    .sort((a, b) => a.entry.at - b.entry.at || a.n - b.n)
    .map(({ entry }) => entry);
