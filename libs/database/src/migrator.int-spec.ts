import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DATABASE_KINDS, spawnBuilt, tempFolder, emptyDatabase, type TestDatabase } from '#testing';
import { allRows, createDatabase, openDatabase } from './database.fixture.js';
import { ENTITIES } from './entities/index.js';
import { MIGRATIONS } from './migrations/index.js';

// A start of a process costs a second of a core.
const PROCESSES = process.env.MILLRACE_TORTURE === 'full' ? 8 : 4;

describe.each(DATABASE_KINDS)('migrations on %s', (kind) => {
  let target: TestDatabase;
  beforeEach(async () => {
    target = await emptyDatabase(kind);
  });
  afterEach(() => target.remove());

  it('bring an empty database to the newest version, and a second start changes nothing', async () => {
    const applied = async (): Promise<object[]> => {
      const database = await openDatabase(target.url);
      const rows = await allRows(database, 'SELECT * FROM schema_migrations ORDER BY version');
      await database.stop();
      return rows;
    };
    const first = await applied();
    expect(first).toMatchObject(MIGRATIONS.map(({ version, name }) => ({ version, name })));
    expect(await applied()).toEqual(first);
  });

  it('make exactly the tables and columns of the entities', async () => {
    const database = await openDatabase(target.url);
    const { expected, found } = await database.read(async (manager) => {
      const metadata = ENTITIES.map((entity) => manager.connection.getMetadata(entity));
      const expected = metadata.map(({ tableName, columns }) => [
        tableName,
        columns.map(({ databaseName, isNullable }) => `${databaseName}${isNullable ? '?' : ''}`).sort(),
      ]);
      const runner = manager.connection.createQueryRunner();
      const tables = await runner.getTables(metadata.map(({ tableName }) => tableName));
      await runner.release();
      const found = tables.map(({ name, columns }) => [
        name.replace('public.', ''),
        columns.map((column) => `${column.name}${column.isNullable && !column.isPrimary ? '?' : ''}`).sort(),
      ]);
      return { expected, found };
    });
    await database.stop();
    const byName = (tables: unknown[][]): object => Object.fromEntries(tables) as object;
    expect(byName(found)).toEqual(byName(expected));
  });

  it('refuse a schema newer than the build, naming both versions, as an error that waiting cannot cure', async () => {
    const newer = await openDatabase(target.url);
    await newer.inTransaction((tx) =>
      tx.query("INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, 'future', 0)"),
    );
    await newer.stop();
    await expect(createDatabase(target.url).start()).rejects.toMatchObject({
      code: 'SCHEMA_TOO_NEW',
      fatal: true,
      found: 99,
      known: MIGRATIONS.length,
    });
  });

  it('are left to others by a process that may only check', async () => {
    const checking = createDatabase(target.url, { migrations: 'check' });
    await expect(checking.start()).rejects.toMatchObject({ code: 'SCHEMA_TOO_OLD', found: 0 });
    await (await openDatabase(target.url)).stop();
    await checking.start();
    expect(await checking.health()).toEqual({ status: 'up' });
    await checking.stop();
  });

  it('are undone as a whole when one fails', async () => {
    const blocked = await openBefore(target.url);
    // The last migration makes this table too, so it fails after all the others succeeded.
    await blocked.run('CREATE TABLE depth_samples (x INTEGER)');
    await expect(createDatabase(target.url).start()).rejects.toThrow(/depth_samples/);
    await blocked.run('DROP TABLE depth_samples');
    await blocked.close();
    const database = await openDatabase(target.url);
    expect(await allRows(database, 'SELECT version FROM schema_migrations')).toHaveLength(MIGRATIONS.length);
    await database.stop();
  });

  it(`run once when a fleet of ${PROCESSES} processes starts at the same moment`, async () => {
    const folder = await tempFolder('fleet');
    const start = join(folder.path, 'start');
    const fleet = Array.from({ length: PROCESSES }, () =>
      spawnBuilt('libs/database/testing/migrate.process', [target.url, start]),
    );
    await Promise.all(fleet.map((child) => child.output('ready', 60_000)));
    await writeFile(start, '');
    const exits = await Promise.all(fleet.map((child) => child.exited));
    expect(exits.map(({ code }) => code)).toEqual(Array(PROCESSES).fill(0));
    const migrated = fleet
      .flatMap((child) => child.logs())
      .filter(({ msg }) => msg === 'database schema migrated');
    expect(migrated).toHaveLength(1);
    await folder.remove();
  }, 120_000);
});

/** A connection without our schema. */
async function openBefore(
  url: string,
): Promise<{ run(sql: string): Promise<unknown>; close(): Promise<void> }> {
  const { DataSource } = await import('typeorm');
  const source = url.startsWith('sqlite:')
    ? new DataSource({ type: 'sqlite', database: url.slice('sqlite:'.length) })
    : new DataSource({ type: 'postgres', url });
  await source.initialize();
  return { run: (sql) => source.query(sql), close: () => source.destroy() };
}
