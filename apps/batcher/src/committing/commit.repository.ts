import { Inject, Injectable } from '@nestjs/common';
import type { BatchEvent, BatchFile } from '#contracts';
import {
  BatchEntity,
  BatchItemEntity,
  bulkExecute,
  bulkInsert,
  bulkQuery,
  Database,
  databaseNow,
  dialectOf,
  FOLDER_AWAY,
  hashIsOneOf,
  storableText,
  typesOf,
  type EntityManager,
  type SqlValue,
} from '#database';
import { formatOf, writtenAs } from '#envelope';
import { appendAll, newEventId } from '#outbox';
import { faultPoint, IDENTITY, isTracing, newTrace, recordSpan, type Identity } from '#service';
import { tokenizerId } from '#tokens';
import { BatcherConfig } from '../batcher.config.js';
import {
  admitted,
  distinctFiles,
  keyOf,
  type BatchDraft,
  type Committed,
  type CommitUnit,
  type CountedFile,
  type FilePart,
  type FilesUnit,
} from './commit-unit.js';

interface Batch extends BatchDraft {
  id: string;
}

// A file is ours to decide about while nobody has decided about this revision. `failed` is open too: a requeued job may succeed.
const UNBATCHED = `files.id = v.id AND files.revision = v.revision
  AND NOT EXISTS (SELECT 1 FROM batch_items i WHERE i.file_id = v.id AND i.revision = v.revision)`;
const OPEN = `${UNBATCHED} AND files.status IN ('pending', 'processing', 'failed')`;
// In the transaction that has marked them so and not inserted their items yet; others show both or neither.
const MARKED = `${UNBATCHED} AND files.status = 'batched' AND files.sent_revision = v.revision AND files.sent_hash = v.hash`;
const RELEASED = 'worker_id = NULL, claimed_until = NULL';
// The row then tells of the file as it was read, so that a rescan that sees the same changes nothing.
const READ = `${RELEASED}, error_status = NULL, skip_reason = NULL, duplicate_of = NULL, size = v.size,
  mtime_ns = v.mtime_ns, ctime_ns = v.ctime_ns, inode = v.inode, hash_value = v.hash, hash_algorithm = 'sha256',
  token_count = v.tokens`;
// What was last batched of this path had the same content, and all of it was delivered.
const DELIVERED_BEFORE = `files.sent_hash = v.hash AND NOT EXISTS (
  SELECT 1 FROM batch_items i LEFT JOIN analyses a ON a.file_id = i.file_id AND a.revision = i.revision AND a.part = i.part
  WHERE i.file_id = files.id AND i.revision = files.sent_revision AND coalesce(a.outcome, '') <> 'delivered')`;
const count = (condition: string): string => `sum(CASE WHEN ${condition} THEN 1 ELSE 0 END)`;
// Some of it is yet to be delivered, and nothing of it was found to be another or failed for good.
const ON_ITS_WAY = `${count('b.completed_at IS NULL')} > 0
  AND ${count("a.outcome = 'stale' OR d.id IS NOT NULL OR o.id IS NOT NULL")} = 0`;

const COUNTED = {
  id: 'int',
  revision: 'int',
  size: 'int',
  mtime_ns: 'text',
  ctime_ns: 'text',
  inode: 'text',
  hash: 'text',
  tokens: 'int',
} as const;
const BATCH = typesOf(BatchEntity, ['id', 'totalTokens', 'maxTokens', 'itemCount', 'createdBy']);
const ITEM = typesOf(BatchItemEntity, [
  ...(['fileId', 'revision', 'part', 'parts', 'batchId'] as const),
  ...(['byteStart', 'byteEnd', 'tokens', 'contentHash'] as const),
]);
const CHANGED = { id: 'int', revision: 'int', reason: 'text', error: 'text', duplicate_of: 'int' } as const;
/** What a unit without batches makes of the rows of its files. */
const CHANGES: Record<FilesUnit['kind'], (now: string) => string> = {
  skip: () => `status = 'skipped', ${RELEASED}, skip_reason = v.reason, error_status = v.error,
    duplicate_of = v.duplicate_of`,
  fail: () => `status = 'failed', ${RELEASED}, error_status = v.error`,
  wait: () => `error_status = '${FOLDER_AWAY}'`,
  leave: (now) => `job_id = NULL, enqueued_at = ${now}`,
};

/**
 * Writes what became of files: batches with their items, file states and events; skips; failures. All units of a call
 * are one transaction. Guarantee: a file revision is batched once, whoever else tries; what another decided stays.
 */
@Injectable()
export class CommitRepository {
  private readonly tokenizer: string;

  constructor(
    private readonly database: Database,
    private readonly config: BatcherConfig,
    @Inject(IDENTITY) private readonly identity: Identity,
  ) {
    const { rewrites, extension } = formatOf(writtenAs(config));
    // What a count holds for: contents that are rewritten have other tokens in each format.
    this.tokenizer = `${tokenizerId(config.ENCODING)}${rewrites === 'never' ? '' : `+${extension}`}`;
  }

  commit(units: readonly CommitUnit[]): Promise<Committed> {
    const drafts = units.flatMap((unit) => (unit.kind === 'batches' ? unit.drafts : []));
    const others = units.filter((unit) => unit.kind !== 'batches');
    const work = async (tx: EntityManager): Promise<Committed> => {
      const committed = await this.commitBatches(tx, drafts);
      for (const kind of ['skip', 'fail', 'wait', 'leave'] as const)
        await this.change(
          tx,
          kind,
          others.filter((unit) => unit.kind === kind),
        );
      await faultPoint('batcher.inside-transaction');
      return committed;
    };
    return this.database.inTransaction(work, { ambient: false });
  }

  /** A file with this content that was sent, or is on its way. */
  async sentFile(hash: string): Promise<number | undefined> {
    const [row] = await this.database.read((manager) =>
      bulkQuery<{ id: number }>(
        manager,
        { columns: { hash: 'text' }, rows: [[hash]], alias: 'v' },
        (source) => `SELECT f.id FROM ${source} JOIN files f ON ${hashIsOneOf('f.hash_value', ['v.hash'])}
          WHERE f.hash_algorithm = 'sha256' AND f.status IN ('batched', 'analyzed') AND f.removed = 0
          ORDER BY f.id LIMIT 1`,
      ),
    );
    return row?.id;
  }

  private async commitBatches(tx: EntityManager, drafts: readonly BatchDraft[]): Promise<Committed> {
    const files = distinctFiles(drafts);
    // Asked first: what is delivered between the statements is then seen by the second.
    const onTheirWay = await this.findOnTheirWay(tx, files);
    for (const key of onTheirWay) files.delete(key);
    if (files.size === 0) return { batches: [], refused: 0, touched: 0, onTheirWay };
    const touched = await this.markDeliveredBefore(tx, files);
    const open = await this.markBatchedIfOpen(tx, files);
    const batches = admitted(drafts, open).map((draft) => ({ ...draft, id: newEventId() }));
    await this.insertBatches(tx, batches);
    const events = batches.map((batch) => this.event(batch));
    await this.insertItems(tx, batches);
    await appendAll(tx, events);
    return {
      batches: batches.map(({ id, parts, totalTokens }) => ({
        id,
        items: parts.length,
        tokens: totalTokens,
      })),
      refused: files.size - open.size - touched,
      touched,
      onTheirWay,
    };
  }

  /** Only their stat is another than that of what was batched of them last, and that is yet to be delivered. */
  private async findOnTheirWay(
    tx: EntityManager,
    files: ReadonlyMap<string, CountedFile>,
  ): Promise<Set<string>> {
    const found = await bulkQuery<{ id: number; revision: number }>(
      tx,
      {
        columns: COUNTED,
        rows: rowsInOrder(seenBefore(files)),
        alias: 'v',
        extra: [this.config.ANALYSIS_QUEUE],
      },
      (source, [queue]) => `SELECT files.id, files.revision FROM ${source} CROSS JOIN files
        JOIN batch_items i ON i.file_id = files.id AND i.revision = files.sent_revision
        JOIN batches b ON b.id = i.batch_id
        LEFT JOIN analyses a ON a.file_id = i.file_id AND a.revision = i.revision AND a.part = i.part
        LEFT JOIN dead_letters d ON d.queue = ${queue} AND d.job_id = 'e-' || b.id AND d.status <> 'requeued'
        LEFT JOIN outbox o ON o.id = b.id AND o.status = 'DEAD'
        WHERE ${OPEN} AND files.sent_hash = v.hash GROUP BY files.id, files.revision HAVING ${ON_ITS_WAY}`,
    );
    return new Set(found.map(({ id, revision }) => keyOf({ fileId: id, revision })));
  }

  /** Only its stat was another: the file is analysed as it is, without a batch. Returns how many. */
  private markDeliveredBefore(tx: EntityManager, files: ReadonlyMap<string, CountedFile>): Promise<number> {
    return bulkExecute(
      tx,
      {
        columns: COUNTED,
        rows: rowsInOrder(seenBefore(files)),
        alias: 'v',
        extra: [this.tokenizer],
      },
      (source, [tokenizer]) => `UPDATE files SET status = 'analyzed', ${READ}, tokenizer = ${tokenizer}
        FROM ${source} WHERE ${OPEN} AND ${DELIVERED_BEFORE}`,
    );
  }

  /** Mostly all are open; which of them were, is asked only if not. */
  private async markBatchedIfOpen(
    tx: EntityManager,
    files: ReadonlyMap<string, CountedFile>,
  ): Promise<Set<CountedFile>> {
    const rows = rowsInOrder([...files.values()]);
    const marked = await bulkExecute(
      tx,
      { columns: COUNTED, rows, alias: 'v', extra: [this.tokenizer] },
      (source, [tokenizer]) => `UPDATE files SET status = 'batched', ${READ}, tokenizer = ${tokenizer},
          sent_revision = files.revision, sent_hash = v.hash
        FROM ${source} WHERE ${OPEN}`,
    );
    if (marked === files.size) return new Set(files.values());
    const ours = await bulkQuery<{ id: number; revision: number }>(
      tx,
      { columns: COUNTED, rows, alias: 'v' },
      (source) => `SELECT v.id, v.revision FROM ${source} CROSS JOIN files WHERE ${MARKED}`,
    );
    return new Set(ours.flatMap(({ id, revision }) => files.get(keyOf({ fileId: id, revision })) ?? []));
  }

  private async insertBatches(tx: EntityManager, batches: readonly Batch[]): Promise<void> {
    const { MAX_BATCH_TOKENS } = this.config;
    const rows = batches.map(({ id, totalTokens, parts }) => [
      id,
      totalTokens,
      MAX_BATCH_TOKENS,
      parts.length,
      this.identity.workerId,
    ]);
    const names = Object.keys(BATCH).join(', ');
    await bulkQuery(
      tx,
      { columns: BATCH, rows, alias: 'v' },
      (source) =>
        `INSERT INTO batches (${names}, created_at) SELECT ${names}, ${databaseNow(dialectOf(tx))} FROM ${source}`,
    );
  }

  private async insertItems(tx: EntityManager, batches: readonly Batch[]): Promise<void> {
    const rows = batches.flatMap(({ id, parts }) =>
      parts.map(({ file, part, bytes: { start, end, tokens, hash } }): SqlValue[] => {
        const { fileId, revision, parts } = file;
        return [fileId, revision, part, parts.length, id, start, end, tokens, hash];
      }),
    );
    await bulkInsert(tx, { table: 'batch_items', columns: ITEM, rows });
  }

  /** The event has its batch's id, so that the analyzer's inbox entry confirms it. */
  private event({ id, parts, totalTokens }: Batch): Parameters<typeof appendAll>[1][number] {
    const payload: BatchEvent = { id, totalTokens, files: parts.map(batchFile) };
    const trace = isTracing() ? batchTrace(id, parts, totalTokens) : parts[0]?.file.trace;
    return { id, queue: this.config.ANALYSIS_QUEUE, payload, ...(trace && { trace }) };
  }

  private async change(
    tx: EntityManager,
    kind: FilesUnit['kind'],
    units: readonly FilesUnit[],
  ): Promise<void> {
    const rows = units.flatMap(({ files, reason, error, duplicateOf }) =>
      files.map(({ fileId, revision }) => [
        ...[fileId, revision, reason ?? null],
        ...[typeof error === 'string' ? storableText(error) : null, duplicateOf ?? null],
      ]),
    );
    const change = CHANGES[kind](databaseNow(dialectOf(tx)));
    await bulkExecute(
      tx,
      { columns: CHANGED, rows, alias: 'v' },
      (source) => `UPDATE files SET ${change} FROM ${source} WHERE ${OPEN}`,
    );
  }
}

function seenBefore(files: ReadonlyMap<string, CountedFile>): CountedFile[] {
  return [...files.values()].filter(({ revision }) => revision > 1);
}

/** In one order for all processes, so that two that have the same files do not wait for each other. */
function rowsInOrder(files: readonly CountedFile[]): SqlValue[][] {
  const inOrder = [...files].sort((a, b) => a.fileId - b.fileId);
  return inOrder.map(({ fileId, revision, facts, tokens }) => {
    const { size, mtimeNs, ctimeNs, inode, hash } = facts;
    return [fileId, revision, size, mtimeNs, ctimeNs, inode, hash, tokens];
  });
}

function batchFile({ file, part, bytes }: FilePart): BatchFile {
  const { fileId, revision, path, pathBytes, parts } = file;
  const { start, end, tokens, hash } = bytes;
  const found: BatchFile = { fileId, revision, path, part, parts: parts.length, start, end, tokens, hash };
  if (pathBytes !== undefined) found.pathBytes = pathBytes;
  return found;
}

/** A batch has a trace of its own: its files may come from several scans, and a scan has thousands of batches. */
function batchTrace(id: string, parts: readonly FilePart[], tokens: number): string {
  const self = newTrace();
  recordSpan({
    name: 'batch',
    self,
    links: [...new Set(parts.map(({ file }) => file.trace))].slice(0, MAX_LINKS),
    startedAt: Math.min(...parts.map(({ file }) => file.countedAt ?? Date.now())),
    attributes: { 'millrace.batch_id': id, 'millrace.parts': parts.length, 'millrace.tokens': tokens },
  });
  return self;
}

const MAX_LINKS = 32;
