import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execute, queryRows, type Database } from '#database';
import { pathKey } from '#files';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { openDatabase, registerFiles } from '../../database/src/database.fixture.js';
import { Explanations } from './explanations.repository.js';

const SENT = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const REFUSED = '3f2504e1-4f89-41d3-9a0c-0305e82c3301';

describe.each(DATABASE_KINDS)('the story of a file and of a batch, on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;
  let ids: number[];
  let explanations: Explanations;

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = await openDatabase(place.url);
    explanations = new Explanations(database);
    await registerFiles(database, 6);
    const rows = await database.read((manager) =>
      queryRows<{ id: number }>(manager, 'SELECT id FROM files ORDER BY id'),
    );
    ids = rows.map(({ id }) => id);
    await fill();
  }, 60_000);
  afterAll(async () => {
    await database.stop();
    await place.remove();
  });

  const fill = (): Promise<void> =>
    database.inTransaction(async (tx) => {
      const run = (sql: string, params: unknown[] = []): Promise<number> => execute(tx, sql, params);
      const set = (file: number, sql: string): Promise<number> =>
        run(`UPDATE files SET ${sql} WHERE id = $1`, [ids[file]]);
      await run('UPDATE folders SET path_key = $1', [pathKey('/r')]);
      await set(0, "status = 'analyzed', enqueued_at = 10, token_count = 40");
      await set(1, "status = 'failed', error_status = 'REFUSED', enqueued_at = 10");
      await set(2, "status = 'skipped', skip_reason = 'binary'");
      await set(3, `status = 'skipped', skip_reason = 'duplicate', duplicate_of = ${ids[0]}`);
      await set(4, "status = 'pending', error_status = 'FOLDER_AWAY'");
      await set(5, "status = 'processing', worker_id = 'batcher-9', claimed_until = 99");
      const batch = `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at, published_at, completed_at)
        VALUES ($1, 80, 100, $2, 'batcher-1', 20, 30, $3)`;
      await run(batch, [SENT, 2, 40]);
      await run(batch, [REFUSED, 1, null]);
      const item = `INSERT INTO batch_items (file_id, revision, part, parts, batch_id, byte_start, byte_end, tokens, content_hash)
        VALUES ($1, 1, $2, $3, $4, 0, 1, 40, 'h')`;
      await run(item, [ids[0], 1, 2, SENT]);
      await run(item, [ids[0], 2, 2, SENT]);
      await run(item, [ids[1], 1, 1, REFUSED]);
      for (const part of [1, 2])
        await run(
          "INSERT INTO analyses (file_id, revision, part, batch_id, outcome, analyzed_at) VALUES ($1, 1, $2, $3, 'delivered', 40)",
          [ids[0], part, SENT],
        );
      await run(
        `INSERT INTO dead_letters (id, queue, job_id, name, payload, reason, error_name, error_message, stack, fingerprint,
           attempts_made, attempts, last_worker_id, enqueued_at, failed_at, dead_lettered_at)
         VALUES (77, 'file-analysis-queue', $1, 'n', '{}', 'error', 'E', 'status 413', 's', 'f', 1, $2, 'w', 30, 50, 60)`,
        [`e-${REFUSED}`, JSON.stringify([{ attempt: 1, error: 'status 413', at: 50 }])],
      );
      await run(
        "INSERT INTO dead_letter_history (letter_id, at, actor, event) VALUES (77, 60, 'system', 'dead-lettered')",
      );
    });
  const told = async (file: number): Promise<string | undefined> =>
    (await explanations.file(ids[file] ?? 0))?.explanation;

  it('tells each stage of a file that was delivered in parts', async () => {
    const view = await explanations.fileAt('/r/file-0');
    expect(view).toMatchObject({
      ...{
        id: ids[0],
        path: '/r/file-0',
        root: '/r',
        status: 'analyzed',
        removed: false,
        tokens: 40,
        letters: [],
      },
      explanation: `It was delivered in batch ${SENT}.`,
      items: [
        { part: 1, parts: 2, batchId: SENT, outcome: 'delivered', endedAt: 40 },
        { part: 2, parts: 2, batchId: SENT, outcome: 'delivered', endedAt: 40 },
      ],
    });
    expect(view?.timeline).toEqual([
      { at: 1, event: 'first seen by a scan' },
      { at: 1, event: 'last seen by a scan' },
      { at: 10, event: 'revision 1 queued for a batcher' },
      { at: 20, event: `revision 1, in parts, put in batch ${SENT}` },
      { at: 30, event: `batch ${SENT} published for an analyzer` },
      { at: 40, event: `batch ${SENT} delivered` },
    ]);
  });

  it('names the letter of a file whose batch was refused, with its attempts', async () => {
    const view = await explanations.file(ids[1] ?? 0);
    expect(view).toMatchObject({
      explanation: 'It failed: REFUSED. Letter 77 is open: requeue it once the cause is mended.',
      letters: [{ id: 77, status: 'open', attempts: [{ attempt: 1, error: 'status 413', at: 50 }] }],
    });
    expect(view?.timeline.slice(-2)).toEqual([
      { at: 50, event: 'attempt 1 failed: status 413 (letter 77)' },
      { at: 60, event: 'dead-lettered (letter 77)' },
    ]);
  });

  it('says what the others wait for, or why they were skipped', async () => {
    expect(await told(2)).toBe('It was skipped: binary.');
    expect(await told(3)).toBe(`It was skipped: the same content as file ${ids[0]}.`);
    expect(await told(4)).toBe('It waits for its folder, which is away.');
    expect(await told(5)).toBe('batcher-9 counts it and looks for a batch with room.');
  });

  it('tells what is in a batch and how it fared', async () => {
    expect(await explanations.batch(SENT)).toMatchObject({
      ...{
        explanation: 'It was delivered.',
        totalTokens: 80,
        maxTokens: 100,
        itemCount: 2,
        event: null,
        answer: null,
      },
      items: [
        { fileId: ids[0], path: '/r/file-0', part: 1, tokens: 40 },
        { fileId: ids[0], part: 2 },
      ],
    });
    expect(await explanations.batch(REFUSED)).toMatchObject({
      explanation: 'It was refused: status 413 Letter 77 is open.',
      letters: [{ id: 77 }],
    });
  });

  it('finds nothing where there is nothing, and batches by the beginning of their ids', async () => {
    expect(await explanations.file(999_999)).toBeUndefined();
    expect(await explanations.fileAt('/r/other')).toBeUndefined();
    expect(await explanations.fileAt('file-0')).toBeUndefined();
    expect(await explanations.batch('nope')).toBeUndefined();
    expect(await explanations.batchesLike('3f2504e0')).toEqual([SENT]);
    expect(await explanations.batchesLike('3f2504e')).toEqual([SENT, REFUSED]);
  });
});
