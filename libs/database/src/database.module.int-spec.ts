import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { DATABASE_KINDS, guardLeaks, emptyDatabase, type DatabaseKind, type TestDatabase } from '#testing';
import { createDatabase, openDatabase } from './database.fixture.js';
import { DatabaseModule } from './database.module.js';
import { Database } from './database.service.js';
import { deferred } from './deferred.fixture.js';
import { FenceEntity } from './entities/message.entity.js';

// The guard looks after the inner hooks have closed what they opened.
describe('the database module', () => {
  guardLeaks();
  describe.each(DATABASE_KINDS)('gives an injected repository on %s that', injected);
});

const REFUSED = { sqlite: 'SQLITE_READONLY', postgres: '25006' };

function injected(kind: DatabaseKind): void {
  let target: TestDatabase;
  let module: TestingModule;
  let database: Database;
  let fences: Repository<FenceEntity>;
  beforeEach(async () => {
    target = await emptyDatabase(kind);
    database = createDatabase(target.url, { migrations: 'check' });
    module = await Test.createTestingModule({
      imports: [DatabaseModule.fromConfig(), TypeOrmModule.forFeature([FenceEntity])],
    })
      .overrideProvider(Database)
      .useValue(database)
      .compile();
    fences = module.get(getRepositoryToken(FenceEntity));
  });
  afterEach(async () => {
    await database.stop();
    await module.close();
    await target.remove();
  });

  const migrated = async (): Promise<void> => (await openDatabase(target.url)).stop();
  const add = (key: string): Promise<unknown> =>
    database.inTransaction((tx) => tx.withRepository(fences).insert({ key, fence: 1 }));

  it('is there before the database is, says so, and reads once a retried start succeeded', async () => {
    await expect(fences.find()).rejects.toMatchObject({ code: 'DATABASE_CLOSED' });
    await expect(database.start()).rejects.toMatchObject({ code: 'SCHEMA_TOO_OLD' });
    await expect(fences.find()).rejects.toMatchObject({ code: 'DATABASE_CLOSED' });
    await migrated();
    await database.start();
    expect(await fences.find()).toEqual([]);
  });

  it('goes on after a stop and another start', async () => {
    await migrated();
    await database.start();
    await add('a');
    await database.stop();
    await expect(fences.find()).rejects.toMatchObject({ code: 'DATABASE_CLOSED' });
    await database.start();
    await add('b');
    expect(await fences.countBy({ fence: 1 })).toBe(2);
  });

  it('refuses to write, also while a transaction is open that it would have joined', async () => {
    await migrated();
    await database.start();
    const refusal = { code: REFUSED[kind] };
    await expect(fences.insert({ key: 'a', fence: 1 })).rejects.toMatchObject(refusal);
    const inside = deferred();
    const go = deferred();
    const strangers = database.inTransaction(async (tx) => {
      await tx.withRepository(fences).insert({ key: 'theirs', fence: 1 });
      inside.resolve();
      await go.promise;
    });
    await inside.promise;
    await expect(fences.update({ key: 'theirs' }, { fence: 2 })).rejects.toMatchObject(refusal);
    await expect(fences.delete({ key: 'theirs' })).rejects.toMatchObject(refusal);
    expect(await fences.find()).toEqual([]);
    go.resolve();
    await strangers;
    expect(await fences.find()).toEqual([{ key: 'theirs', fence: 1 }]);
  });

  it('writes with a transaction, or not at all', async () => {
    await migrated();
    await database.start();
    await add('kept');
    const failed = database.inTransaction(async (tx) => {
      await tx.withRepository(fences).insert({ key: 'lost', fence: 1 });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(await fences.find()).toEqual([{ key: 'kept', fence: 1 }]);
  });
}
