import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { BATCH_EVENT } from '#contracts';
import { execute, queryRows, type Database } from '#database';
import { tokenizerId } from '#tokens';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import type { BatcherConfig } from '../batcher.config.js';
import { openDatabase, registerFiles, type Registered } from '../batcher.fixture.js';
import { CommitRepository } from './commit.repository.js';
import type { BatchesUnit, CountedFile, FileKey } from './commit-unit.js';

const QUEUE = 'analysis';
const MAX_TOKENS = 1_000;

function repositoryOf(database: Database, workerId: string): CommitRepository {
  const config = {
    ...{ ANALYSIS_QUEUE: QUEUE, MAX_BATCH_TOKENS: MAX_TOKENS, ENCODING: 'o200k_base' },
    ...{ SINK: 'write', OUTPUT_FORMAT: 'markdown' },
  };
  return new CommitRepository(database, config as BatcherConfig, { app: 'batcher', workerId });
}

describe.each(DATABASE_KINDS)('CommitRepository on %s', (kind) => {
  let store: TestDatabase;
  let database: Database;
  let commits: CommitRepository;
  let files: Registered[];

  beforeAll(async () => {
    store = await testDatabase(kind);
    database = await openDatabase(store.url);
    commits = repositoryOf(database, 'me');
  });
  afterAll(async () => {
    await database.stop();
    await store.remove();
  });
  beforeEach(async () => {
    await database.inTransaction(async (tx) => {
      for (const table of ['analyses', 'batch_items', 'batches', 'outbox', 'dead_letters', 'files'])
        await execute(tx, `DELETE FROM ${table}`);
    });
    files = await registerFiles(database, ['/a', '/b', '/c', '/d']);
  });

  const rows = <Row extends object>(sql: string): Promise<Row[]> =>
    database.read((manager) => queryRows<Row>(manager, sql));
  const keyOf = (index: number): FileKey => ({ fileId: files[index]!.id, revision: 1 });
  const statuses = async (): Promise<string[]> =>
    (await rows<{ status: string }>('SELECT status FROM files ORDER BY path')).map(({ status }) => status);
  const set = (sql: string): Promise<number> =>
    database.inTransaction((tx) => execute(tx, `UPDATE files SET ${sql}`));

  function counted(
    index: number,
    over: Partial<CountedFile> & { size?: number; costs?: number[] } = {},
  ): CountedFile {
    const { size = 10, costs = [50], ...rest } = over;
    const step = size / costs.length;
    return {
      fileId: files[index]!.id,
      revision: 1,
      path: files[index]!.path,
      facts: { size, mtimeNs: '11', ctimeNs: '12', inode: '1:2', hash: `hash-${index}` },
      tokens: 40,
      parts: costs.map((cost, n) => ({
        start: n * step,
        end: (n + 1) * step,
        tokens: cost - 10,
        cost,
        hash: `p${n}`,
      })),
      ...rest,
    };
  }

  /** The first part of every file shares a batch; the others have one each. */
  function unitOf(...given: CountedFile[]): BatchesUnit {
    const all = given.map((file) => file.parts.map((bytes, n) => ({ file, part: n + 1, bytes })));
    const groups = [
      all.map((parts) => parts[0]!),
      ...all.flatMap((parts) => parts.slice(1).map((part) => [part])),
    ];
    return {
      kind: 'batches',
      drafts: groups.map((parts) => ({
        parts,
        totalTokens: 64 + parts.reduce((sum, { bytes }) => sum + bytes.cost, 0),
      })),
    };
  }

  // What an I/O error does; PostgreSQL refuses all that follows a failed statement.
  if (kind === 'sqlite')
    it.each(['batches', 'batch_items', 'outbox'])(
      'leaves nothing behind when the database rolls back by itself in the middle, at %s',
      async (table) => {
        const trigger = (sql: string): Promise<number> => database.inTransaction((tx) => execute(tx, sql));
        await trigger(
          `CREATE TRIGGER torn BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ROLLBACK, 'rolled back'); END`,
        );
        await expect(commits.commit([unitOf(counted(0))])).rejects.toThrow('rolled back');
        await trigger('DROP TRIGGER torn');
        expect(await statuses()).toEqual(['pending', 'pending', 'pending', 'pending']);
        for (const each of ['batches', 'batch_items', 'outbox'])
          expect(await rows(`SELECT * FROM ${each}`)).toEqual([]);
      },
    );

  it('marks a file as enqueued that it settles before its producer has marked it, and leaves a mark that is there', async () => {
    await set(`enqueued_at = 7 WHERE id = ${files[1]!.id}`);
    const [skipped, failed] = [keyOf(2), keyOf(3)];
    await commits.commit([
      unitOf(counted(0), counted(1)),
      { kind: 'skip', files: [skipped], reason: 'binary', error: null },
      { kind: 'fail', files: [failed], error: 'broken' },
    ]);
    const marks = await rows<{ at: number }>('SELECT enqueued_at AS at FROM files ORDER BY path');
    expect(marks.map(({ at }) => (at > 1_000 ? 'now' : at))).toEqual(['now', 7, 'now', 'now']);
  });

  describe('a file whose stat is another', () => {
    const deliver = (outcome = 'delivered'): Promise<number> =>
      database.inTransaction(async (tx) => {
        await execute(tx, 'UPDATE batches SET completed_at = 1');
        return execute(
          tx,
          `INSERT INTO analyses (file_id, revision, part, batch_id, outcome, analyzed_at)
           SELECT file_id, revision, part, batch_id, '${outcome}', 1 FROM batch_items WHERE revision = 1`,
        );
      });
    const letter = (status: string): Promise<number> =>
      database.inTransaction((tx) =>
        execute(
          tx,
          `INSERT INTO dead_letters (queue, job_id, name, payload, reason, error_name, error_message, stack, fingerprint,
             attempts_made, last_worker_id, enqueued_at, failed_at, dead_lettered_at, status)
           SELECT '${QUEUE}', 'e-' || id, 'x', '{}', 'error', 'E', 'e', '', 'f', 1, 'w', 1, 1, 1, '${status}' FROM batches`,
        ),
      );
    const touch = (): Promise<number> =>
      set("revision = revision + 1, status = 'pending', hash_value = NULL");
    const again = (over: Partial<CountedFile> = {}): CountedFile =>
      counted(0, { revision: 2, costs: [50, 60], ...over });

    beforeEach(async () => {
      await commits.commit([unitOf(counted(0, { costs: [50, 60] }))]);
    });

    it('is analysed again without a batch when its content is what was delivered', async () => {
      await deliver();
      await touch();
      expect(await commits.commit([unitOf(again())])).toEqual({
        batches: [],
        refused: 0,
        touched: 1,
        onTheirWay: new Set(),
      });
      expect(
        await rows("SELECT status, revision, sent_revision, hash_value FROM files WHERE path = '/a'"),
      ).toEqual([{ status: 'analyzed', revision: 2, sent_revision: 1, hash_value: 'hash-0' }]);
      await touch();
      const { facts } = counted(0);
      const edited = again({ revision: 3, facts: { ...facts, hash: 'another' } });
      expect(await commits.commit([unitOf(edited)])).toMatchObject({ refused: 0, touched: 0 });
      expect((await statuses())[0]).toBe('batched');
    });

    it('waits while its content, unchanged, is in a batch that is yet to be delivered', async () => {
      await touch();
      const { fileId } = again();
      const waits = { batches: [{ items: 1 }], refused: 0, touched: 0, onTheirWay: new Set([`${fileId}-2`]) };
      expect(await commits.commit([unitOf(again(), counted(1, { revision: 2 }))])).toMatchObject(waits);
      expect(await statuses()).toEqual(['pending', 'batched', 'pending', 'pending']);
      await letter('requeued');
      expect((await commits.commit([unitOf(again())])).onTheirWay.size).toBe(1);
      const edited = again({ facts: { ...counted(0).facts, hash: 'another' } });
      expect((await commits.commit([unitOf(edited)])).batches).toHaveLength(2);
    });

    it.each(['stale', 'a dead letter', 'a dead event'])(
      'is sent when of its last batch came %s',
      async (outcome) => {
        if (outcome === 'stale') await deliver(outcome);
        if (outcome === 'a dead letter') await letter('open');
        if (outcome === 'a dead event')
          await database.inTransaction((tx) => execute(tx, "UPDATE outbox SET status = 'DEAD'"));
        await touch();
        expect(await commits.commit([unitOf(again())])).toMatchObject({
          batches: [{ items: 1 }, { items: 1 }],
          touched: 0,
        });
      },
    );
  });

  it('writes batch, items, file states and event together, well formed', async () => {
    const committed = await commits.commit([unitOf(counted(0, { trace: '00-a-b-01' }), counted(1))]);
    const id = committed.batches[0]!.id;
    expect(committed).toEqual({
      batches: [{ id, items: 2, tokens: 164 }],
      refused: 0,
      touched: 0,
      onTheirWay: new Set(),
    });
    expect(
      await rows('SELECT id, total_tokens, max_tokens, item_count, created_by, completed_at FROM batches'),
    ).toEqual([
      { id, total_tokens: 164, max_tokens: MAX_TOKENS, item_count: 2, created_by: 'me', completed_at: null },
    ]);
    expect(
      await rows('SELECT batch_id, part, parts, tokens, byte_end FROM batch_items ORDER BY file_id'),
    ).toEqual([
      { batch_id: id, part: 1, parts: 1, tokens: 40, byte_end: 10 },
      { batch_id: id, part: 1, parts: 1, tokens: 40, byte_end: 10 },
    ]);
    expect(
      await rows(
        "SELECT size, mtime_ns, inode, hash_value, hash_algorithm, token_count, tokenizer FROM files WHERE path = '/a'",
      ),
    ).toEqual([
      {
        size: 10,
        mtime_ns: '11',
        inode: '1:2',
        hash_value: 'hash-0',
        hash_algorithm: 'sha256',
        token_count: 40,
        tokenizer: tokenizerId('o200k_base'),
      },
    ]);
    expect(await statuses()).toEqual(['batched', 'batched', 'pending', 'pending']);
    const [event] = await rows<{ id: string; queue: string; payload: string; status: string; trace: string }>(
      'SELECT * FROM outbox',
    );
    expect(event).toMatchObject({ id, queue: QUEUE, status: 'PENDING', trace: '00-a-b-01' });
    expect(BATCH_EVENT.parse(JSON.parse(event!.payload))).toEqual({
      id,
      totalTokens: 164,
      files: [0, 1].map((n) => ({
        ...{ fileId: files[n]!.id, revision: 1, path: files[n]!.path, part: 1, parts: 1 },
        ...{ start: 0, end: 10, tokens: 40, hash: 'p0' },
      })),
    });
  });

  it('batches a file once, however often its job is delivered', async () => {
    await commits.commit([unitOf(counted(0), counted(1))]);
    const again = await commits.commit([unitOf(counted(0), counted(2))]);
    expect(again).toMatchObject({
      batches: [{ items: 1, tokens: 114 }],
      refused: 1,
      touched: 0,
      onTheirWay: new Set(),
    });
    expect(await commits.commit([unitOf(counted(1))])).toEqual({
      batches: [],
      refused: 1,
      touched: 0,
      onTheirWay: new Set(),
    });
    expect(await rows('SELECT count(*) AS n FROM outbox')).toEqual([{ n: 2 }]);
  });

  it('batches a file once when both deliveries are in one transaction', async () => {
    const committed = await commits.commit([unitOf(counted(0)), unitOf(counted(0), counted(1))]);
    expect(committed.batches.map(({ items }) => items)).toEqual([1, 1]);
    expect(await rows('SELECT count(*) AS n FROM batch_items')).toEqual([{ n: 2 }]);
  });

  it('batches each file once when processes commit the same files at the same time', async () => {
    const other = await openDatabase(store.url);
    const theirs = repositoryOf(other, 'they');
    try {
      const all = [0, 1, 2, 3];
      const done = await Promise.all(
        [0, 1, 2, 3, 4, 5].map((turn) =>
          (turn % 2 ? commits : theirs).commit([unitOf(...all.map((n) => counted((n + turn) % 4)))]),
        ),
      );
      expect(done.flatMap(({ batches }) => batches).reduce((sum, { items }) => sum + items, 0)).toBe(4);
      expect(done.reduce((sum, { refused }) => sum + refused, 0)).toBe(20);
      expect(await rows('SELECT count(*) AS n FROM batch_items')).toEqual([{ n: 4 }]);
    } finally {
      await other.stop();
    }
  });

  it('leaves a file alone that was registered anew meanwhile', async () => {
    await set('revision = 2');
    expect(await commits.commit([unitOf(counted(0))])).toEqual({
      batches: [],
      refused: 1,
      touched: 0,
      onTheirWay: new Set(),
    });
    expect(await statuses()).toEqual(['pending', 'pending', 'pending', 'pending']);
  });

  it.each(['analyzed', 'skipped', 'batched'])('leaves a file alone that is %s', async (status) => {
    await set(`status = '${status}'`);
    await commits.commit([
      unitOf(counted(0)),
      { kind: 'skip', files: [keyOf(1)], reason: 'binary', error: null },
      { kind: 'fail', files: [keyOf(2)], error: 'x' },
    ]);
    expect(await statuses()).toEqual([status, status, status, status]);
    expect(await rows('SELECT id FROM batches')).toEqual([]);
  });

  it('batches a failed file whose job was requeued, unless it is in a batch already', async () => {
    await set("status = 'failed', error_status = 'x'");
    expect((await commits.commit([unitOf(counted(0))])).batches).toHaveLength(1);
    await set("status = 'failed'");
    expect(await commits.commit([unitOf(counted(0))])).toEqual({
      batches: [],
      refused: 1,
      touched: 0,
      onTheirWay: new Set(),
    });
    expect(await statuses()).toEqual(['failed', 'failed', 'failed', 'failed']);
  });

  it('commits all parts of a split file, or none', async () => {
    await commits.commit([unitOf(counted(0, { size: 30, costs: [100, 200, 300] }), counted(1))]);
    expect(
      await rows('SELECT part, parts, byte_start, byte_end FROM batch_items WHERE parts > 1 ORDER BY part'),
    ).toEqual([
      { part: 1, parts: 3, byte_start: 0, byte_end: 10 },
      { part: 2, parts: 3, byte_start: 10, byte_end: 20 },
      { part: 3, parts: 3, byte_start: 20, byte_end: 30 },
    ]);
    expect(await rows('SELECT count(*) AS n FROM batches')).toEqual([{ n: 3 }]);
    expect(await commits.commit([unitOf(counted(0, { size: 30, costs: [100, 200, 300] }))])).toEqual({
      batches: [],
      refused: 1,
      touched: 0,
      onTheirWay: new Set(),
    });
  });

  it('writes nothing at all when the database refuses a part of it', async () => {
    await expect(
      commits.commit([unitOf(counted(0)), unitOf(counted(1, { costs: [MAX_TOKENS] }))]),
    ).rejects.toThrow();
    expect(await statuses()).toEqual(['pending', 'pending', 'pending', 'pending']);
    for (const table of ['batches', 'batch_items', 'outbox'])
      expect(await rows(`SELECT * FROM ${table}`)).toEqual([]);
  });

  it('records skips with their reason and failures with their error, and ends claims', async () => {
    await set("status = 'processing', worker_id = 'w', claimed_until = 1");
    await commits.commit([
      { kind: 'skip', files: [keyOf(0)], reason: 'unreadable', error: 'EACCES' },
      { kind: 'skip', files: [keyOf(1)], reason: 'duplicate', duplicateOf: files[0]!.id },
      { kind: 'fail', files: [keyOf(2)], error: 'bad\0news' },
    ]);
    expect(
      await rows(
        "SELECT status, skip_reason, error_status, duplicate_of, worker_id FROM files WHERE path < '/d' ORDER BY path",
      ),
    ).toEqual([
      {
        status: 'skipped',
        skip_reason: 'unreadable',
        error_status: 'EACCES',
        duplicate_of: null,
        worker_id: null,
      },
      {
        status: 'skipped',
        skip_reason: 'duplicate',
        error_status: null,
        duplicate_of: files[0]!.id,
        worker_id: null,
      },
      {
        status: 'failed',
        skip_reason: null,
        error_status: 'bad\u2400news',
        duplicate_of: null,
        worker_id: null,
      },
    ]);
  });
});
