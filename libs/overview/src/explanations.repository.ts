import { isAbsolute, basename, dirname } from 'node:path';
import { fileJobId, QUEUE } from '#contracts';
import { isIn, listOf, type Database } from '#database';
import type { BatchItemView, BatchView, ConcernedLetter, FileView, TimelineEntry } from '#dlq-client';
import { nameKey, pathKey } from '#files';
import { batchTimeline, explainBatch, explainFile, fileTimeline, when } from './explain.js';

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
    f.enqueued_at AS "enqueuedAt"
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
    /** Under which letters of files and of batches are kept. */
    private readonly queues: { files: string; batches: string } = {
      files: QUEUE.filesToBatch,
      batches: QUEUE.fileAnalysis,
    },
  ) {}

  async file(id: number): Promise<FileView | undefined> {
    const [row] = await this.database.rows<FileRow>(`${FILE} WHERE f.id = $1`, [id]);
    return row && this.fileView(row);
  }

  /** By its absolute path, as a scan has spelt it. */
  async fileAt(path: string): Promise<FileView | undefined> {
    if (!isAbsolute(path)) return undefined;
    const [row] = await this.database.rows<FileRow>(
      `${FILE} WHERE f.name = $1 AND f.folder_id = (SELECT d.id FROM folders d WHERE d.path_key = $2)`,
      [nameKey(basename(path)), pathKey(dirname(path))],
    );
    return row && this.fileView(row);
  }

  /** By its id, or by enough of its beginning. */
  async batch(id: string): Promise<BatchView | undefined> {
    const [row] = await this.database.rows<BatchRow>(`${BATCH} WHERE id = $1`, [id]);
    return row && this.batchView(row);
  }

  /** The ids that begin so: none, one, or two when there are more. */
  async batchesLike(prefix: string): Promise<string[]> {
    const sql = 'SELECT id FROM batches WHERE substr(id, 1, $2) = $1 ORDER BY id LIMIT 2';
    const rows = await this.database.rows<{ id: string }>(sql, [prefix, prefix.length]);
    return rows.map(({ id }) => id);
  }

  private async fileView(row: FileRow): Promise<FileView> {
    const { firstScannedAt: _f, lastScannedAt: _l, enqueuedAt: _e, ...facts } = row;
    const items = await this.database.rows<BatchItemView>(
      `${ITEM} WHERE i.file_id = $1 ORDER BY i.revision DESC, i.part LIMIT ${MAX_ITEMS}`,
      [row.id],
    );
    const batches = await this.batchesOf(items);
    const revisions = Array.from({ length: Math.min(row.revision, MAX_LETTERS) }, (_, n) => row.revision - n);
    const jobs = revisions.map((revision) => fileJobId({ id: row.id, revision }));
    const events = batches.map(({ id }) => `e-${id}`);
    const ofFile = await this.lettersOf(this.queues.files, jobs);
    const letters = [...ofFile, ...(await this.lettersOf(this.queues.batches, events))];
    return {
      ...{ ...facts, removed: row.removed === 1, items, letters },
      explanation: explainFile(row, items, letters),
      timeline: ordered([...fileTimeline(row, items, batches), ...(await this.history(letters))]),
    };
  }

  private async batchView(row: BatchRow): Promise<BatchView> {
    const items = await this.database.rows<BatchItemView>(
      `${ITEM} WHERE i.batch_id = $1 ORDER BY f.path, i.part LIMIT ${MAX_ITEMS}`,
      [row.id],
    );
    const [event] = await this.database.rows<NonNullable<BatchView['event']>>(
      'SELECT status, attempts, last_error AS "lastError" FROM outbox WHERE id = $1',
      [row.id],
    );
    const letters = await this.lettersOf(this.queues.batches, [`e-${row.id}`]);
    return {
      ...{ ...row, answer: row.answer === null ? null : (JSON.parse(row.answer) as unknown) },
      ...{ event: event ?? null, items, letters },
      explanation: explainBatch(row, event, items, letters),
      timeline: ordered([...batchTimeline(row), ...(await this.history(letters))]),
    };
  }

  private batchesOf(items: readonly BatchItemView[]): Promise<BatchRow[]> {
    const ids = [...new Set(items.map(({ batchId }) => batchId))].slice(0, MAX_LETTERS);
    const sql = `${BATCH} WHERE id ${isIn(this.database, 1)} ORDER BY created_at`;
    return this.database.rows<BatchRow>(sql, [listOf(this.database, ids)]);
  }

  private async lettersOf(queue: string, jobs: readonly string[]): Promise<ConcernedLetter[]> {
    const rows = await this.database.rows<ConcernedLetter & { attempts: string }>(
      `SELECT id, queue, CASE WHEN resolved_at IS NULL THEN status ELSE 'resolved' END AS status, error_name AS "errorName",
         substr(error_message, 1, 500) AS "errorMessage", attempts, dead_lettered_at AS "deadLetteredAt"
       FROM dead_letters WHERE queue = $1 AND job_id ${isIn(this.database, 2)}
       ORDER BY dead_lettered_at DESC, id DESC LIMIT ${MAX_LETTERS}`,
      [queue, listOf(this.database, jobs)],
    );
    return rows.map((row) => ({ ...row, attempts: JSON.parse(row.attempts) as ConcernedLetter['attempts'] }));
  }

  private async history(letters: readonly ConcernedLetter[]): Promise<TimelineEntry[]> {
    const ids = letters.map(({ id }) => id);
    const rows = await this.database.rows<{ at: number; event: string; letter: number; actor: string }>(
      `SELECT at, event, letter_id AS letter, actor FROM dead_letter_history
       WHERE letter_id ${isIn(this.database, 1, 'bigint')} ORDER BY id LIMIT ${MAX_HISTORY}`,
      [listOf(this.database, ids)],
    );
    const failed = letters.flatMap(({ id, attempts }) =>
      attempts.flatMap(({ attempt, error, at }) =>
        when(at, `attempt ${attempt} failed: ${error.slice(0, 200)} (letter ${id})`),
      ),
    );
    const changed = rows.map(({ at, event, letter, actor }) => {
      const by = actor === 'system' ? '' : ` by ${actor}`;
      return { at, event: `${event}${by} (letter ${letter})` };
    });
    return [...failed, ...changed];
  }
}

const ordered = (entries: readonly TimelineEntry[]): TimelineEntry[] =>
  [...entries].sort((a, b) => a.at - b.at);
