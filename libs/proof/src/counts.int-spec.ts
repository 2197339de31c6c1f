import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execute, type Database } from '#database';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { openDatabase, registerFiles } from '../../database/src/database.fixture.js';
import { isDrained } from './counts.js';

describe.each(DATABASE_KINDS)('a run has drained on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;
  const run = (...statements: string[]): Promise<void> =>
    database.inTransaction(async (tx) => {
      for (const statement of statements) await execute(tx, statement);
    });
  const drained = (): Promise<boolean> => isDrained(database, { delivering: true });

  beforeEach(async () => {
    place = await testDatabase(kind);
    database = await openDatabase(place.url);
    await registerFiles(database, 1);
    await run(
      "UPDATE files SET status = 'batched'",
      "INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at) VALUES ('b', 5, 10, 1, 'w', 1)",
      `INSERT INTO batch_items (file_id, revision, part, parts, batch_id, byte_start, byte_end, tokens, content_hash)
       SELECT id, revision, 1, 1, 'b', 0, 1, 2, 'h' FROM files`,
      `INSERT INTO outbox (id, queue, event_name, payload, status, created_at, available_at, attempts)
       VALUES ('b', 'q', 'e', '{}', 'PUBLISHED', 1, 1, 0)`,
    );
  });
  afterEach(async () => {
    await database.stop();
    await place.remove();
  });

  it('not while a batch is on its way', async () => {
    expect(await drained()).toBe(false);
  });

  it('although a batch was refused, and also when its files were edited and delivered since', async () => {
    await run("UPDATE files SET status = 'failed', error_status = 'x'");
    expect(await drained()).toBe(true);
    await run("UPDATE files SET status = 'analyzed', error_status = NULL, revision = revision + 1");
    expect(await drained()).toBe(true);
  });

  it('although nobody could publish the event of a batch', async () => {
    await run("UPDATE outbox SET status = 'DEAD'");
    expect(await drained()).toBe(true);
  });
});
