import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { apiKeyId, apiKeyRow, newApiKey, secretMatches, type ApiKeyRequest } from './api-key.js';
import { ApiKeys } from './api-keys.repository.js';
import { allRows, openDatabase } from './database.fixture.js';
import type { Database } from './database.service.js';
import { ApiKeyEntity, SessionEntity } from './entities/access.entity.js';

const HOUR_MS = 3_600_000;

describe.each(DATABASE_KINDS)('access on %s', (kind) => {
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

  describe('an API key', () => {
    const add = async (
      request: Partial<ApiKeyRequest> = {},
      at = 1_000,
    ): Promise<[string, string, string]> => {
      const { id, key, hash } = newApiKey();
      const row = apiKeyRow({ name: 'joe', role: 'admin', ...request }, { id, by: 'test', at });
      const outcome = await database.inTransaction((tx) =>
        new ApiKeys(database.repository(ApiKeyEntity)).add(
          tx,
          { ...row, keyHash: hash },
          request.overlapHours,
        ),
      );
      return [id, key, outcome];
    };

    it('is found by its public id, and its secret is nowhere in the database', async () => {
      await add();
      const [id, key] = await add({ queues: ['a', 'b'], expiresInDays: 2 });
      const stored = await new ApiKeys(database.repository(ApiKeyEntity)).find(apiKeyId(key) ?? '');
      expect(stored).toMatchObject({
        id,
        queues: ['a', 'b'],
        expiresAt: 1_000 + 48 * HOUR_MS,
        revokedAt: null,
      });
      expect(await new ApiKeys(database.repository(ApiKeyEntity)).list()).not.toContainEqual(
        expect.objectContaining({ keyHash: expect.anything() }),
      );
      expect(secretMatches(key, stored?.keyHash ?? '')).toBe(true);
      expect(secretMatches(`${key.slice(0, -1)}!`, stored?.keyHash ?? '')).toBe(false);
      const rows = await allRows(database, 'SELECT * FROM api_keys');
      expect(JSON.stringify(rows)).not.toContain(key.slice(-43));
    });

    it('that is replaced works for the overlap, and never longer than it would have', async () => {
      const keys = new ApiKeys(database.repository(ApiKeyEntity));
      const [lasting] = await add();
      await add({ replaces: lasting }, 5_000);
      expect(await keys.find(lasting)).toMatchObject({ expiresAt: 5_000 + 24 * HOUR_MS });
      await add({ replaces: lasting, overlapHours: 48 }, 5_000);
      expect(await keys.find(lasting)).toMatchObject({ expiresAt: 5_000 + 24 * HOUR_MS });
      await add({ replaces: lasting, overlapHours: 0 }, 5_000);
      expect(await keys.find(lasting)).toMatchObject({ expiresAt: 5_000 });
      const [id, , outcome] = await add({ replaces: '000000000000' });
      expect([outcome, await keys.find(id)]).toEqual(['nothing to replace', null]);
    });

    it('is an admin’s, for all queues, while nobody else could administer', async () => {
      expect((await add({ role: 'viewer' }))[2]).toBe('no admin');
      expect((await add({ queues: ['a'] }))[2]).toBe('no admin');
      expect(await new ApiKeys(database.repository(ApiKeyEntity)).list()).toEqual([]);
      const [id] = await add();
      expect((await add({ role: 'viewer' }))[2]).toBe('added');
      await database.inTransaction((tx) =>
        new ApiKeys(database.repository(ApiKeyEntity)).revoke(tx, id, 2_000),
      );
      expect((await add({ role: 'operator' }))[2]).toBe('no admin');
    });

    it('is revoked once, with its sessions', async () => {
      const keys = new ApiKeys(database.repository(ApiKeyEntity));
      const [id] = await add();
      await database.inTransaction((tx) =>
        tx.insert(SessionEntity, { idHash: 'h', keyId: id, csrfHash: 'c', createdAt: 0, expiresAt: 9 }),
      );
      for (const at of [10, 20]) await database.inTransaction((tx) => keys.revoke(tx, id, at));
      expect(await keys.list()).toMatchObject([{ id, revokedAt: 10 }]);
      expect(await allRows(database, 'SELECT * FROM sessions')).toEqual([]);
    });
  });
});
