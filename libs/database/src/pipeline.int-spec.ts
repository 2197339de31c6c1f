import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { folderDestination, httpDestination } from '#contracts';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { allRows, openDatabase, registerFiles } from './database.fixture.js';
import type { EntityManager } from 'typeorm';
import type { Database } from './database.service.js';
import { MIGRATIONS } from './migrations/index.js';
import { migrate } from './migrator.js';
import { joinPipeline, movePipeline, Pipeline, pipelinePrefix, readPipeline } from './pipeline.service.js';
import { dialectOf, queryRows } from './query.js';

const HERE = folderDestination('/out/here', 'markdown');
const THERE = folderDestination('/out/there', 'markdown');

const BEFORE_PIPELINES = 8;

async function dropEverything(tx: EntityManager): Promise<void> {
  if (dialectOf(tx) === 'postgres') {
    await tx.query('DROP SCHEMA public CASCADE');
    await tx.query('CREATE SCHEMA public');
    return;
  }
  const tables = await queryRows<{ name: string }>(
    tx,
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '%search!_%' ESCAPE '!'",
  );
  for (const { name } of tables) await tx.query(`DROP TABLE ${name}`);
}

describe.each(DATABASE_KINDS)('the pipeline of a database on %s', (kind) => {
  let target: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    target = await testDatabase(kind);
    database = await openDatabase(target.url);
  });
  afterEach(async () => {
    await database.stop();
    await target.remove();
  });

  it('is begun once, by whoever comes first, however many come at once', async () => {
    expect(await database.read(readPipeline)).toBeUndefined();
    const rows = await Promise.all(Array.from({ length: 8 }, () => joinPipeline(database, HERE)));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(1);
    expect(rows[0]).toMatchObject({ destination: HERE });
    expect(await joinPipeline(database, HERE)).toEqual(rows[0]);
  });

  it('takes its destination from the first that knows one, and keeps its id', async () => {
    const open = await joinPipeline(database);
    expect(open.destination).toBeUndefined();
    const outcomes = await Promise.allSettled([joinPipeline(database, HERE), joinPipeline(database, THERE)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await joinPipeline(database)).id).toBe(open.id);
  });

  it('refuses another destination, naming both and the cure, as an error that waiting cannot mend', async () => {
    await joinPipeline(database, HERE);
    const stranger = new Pipeline(database, THERE);
    await expect(stranger.start()).rejects.toMatchObject({ code: 'PIPELINE_MISMATCH', fatal: true });
    await expect(stranger.start()).rejects.toThrow(/\/out\/here .*\/out\/there .*--move-to/);
    expect(await database.read(readPipeline)).toMatchObject({ destination: HERE });
  });

  it('moves when told so', async () => {
    const { id } = await joinPipeline(database, HERE);
    await database.inTransaction((tx) => movePipeline(tx, THERE));
    expect(await joinPipeline(database, THERE)).toMatchObject({ id, destination: THERE });
  });

  it('comes to a database that was used before there were pipelines', async () => {
    await database.inTransaction(async (tx) => {
      await dropEverything(tx);
      await migrate(tx, MIGRATIONS.slice(0, BEFORE_PIPELINES));
    });
    await registerFiles(database, 3);
    await database.stop();
    await database.start();
    expect(await joinPipeline(database, HERE)).toMatchObject({ destination: HERE });
    expect(await allRows(database, 'SELECT id FROM files')).toHaveLength(3);
  });
});

describe('schemas of one PostgreSQL database', () => {
  it('hold a pipeline each, with tables and searches of their own', async () => {
    const target = await testDatabase('postgres');
    const open = (schema: string): Promise<Database> => openDatabase(`${target.url}?schema=${schema}`);
    const [one, two, plain] = [await open('team_a'), await open('team_b'), await openDatabase(target.url)];
    try {
      await joinPipeline(one, HERE);
      await joinPipeline(two, THERE);
      expect(await plain.read(readPipeline)).toBeUndefined();
      await registerFiles(one, 2);
      expect(await allRows(two, 'SELECT id FROM files')).toEqual([]);
      const indexes = await allRows<{ schema: string }>(
        plain,
        "SELECT schemaname AS schema FROM pg_indexes WHERE indexname = 'dead_letter_texts_by_part' ORDER BY 1",
      );
      expect(indexes.map(({ schema }) => schema)).toEqual(['public', 'team_a', 'team_b']);
    } finally {
      for (const database of [one, two, plain]) await database.stop();
      await target.remove();
    }
  });
});

describe('a destination', () => {
  it('holds no secret of its address', () => {
    expect(httpDestination('https://user:word@host/batches?team=a&api_key=x&token=y#z')).toEqual({
      sink: 'http',
      address: 'https://host/batches?team=a',
      format: 'json',
    });
  });

  it('marks every key of its pipeline', () => {
    const id = '0123abcd-4567-89ab-cdef-000000000000';
    expect(pipelinePrefix('{millrace}', id)).toBe('{millrace}:0123abcd4567');
    expect(pipelinePrefix('discovery-lock:', id)).toBe('discovery-lock:0123abcd4567');
  });
});
