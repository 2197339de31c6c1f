import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Database } from '#database';
import { createLogger, Metrics, silentLogger } from '#service';
import {
  eventually,
  guardLeaks,
  serviceContract,
  startPgBouncer,
  testDatabase,
  type TestDatabase,
} from '#testing';
import { append } from './append.js';
import { PostgresWakeUp } from './postgres-wake-up.js';

describe('wake-up', () => {
  guardLeaks();

  describe('wake-up by PostgreSQL', () => {
    let place: TestDatabase;
    let database: Database;
    let wakes = 0;
    let wakeUp: PostgresWakeUp;

    beforeEach(async () => {
      place = await testDatabase('postgres');
      database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
      await database.start();
      wakes = 0;
      wakeUp = new PostgresWakeUp(place.url, () => wakes++, silentLogger);
      await wakeUp.start();
      await eventually(() => wakes === 1);
    });
    afterEach(async () => {
      await wakeUp.stop();
      await database.stop();
      await place.remove();
    });

    const appendOne = (): Promise<string> =>
      database.inTransaction((tx) => append(tx, { queue: 'q', payload: {} }));

    it('comes with the commit of an event, once a transaction', async () => {
      await database.inTransaction(async (tx) => {
        await append(tx, { queue: 'q', payload: {} });
        await append(tx, { queue: 'q', payload: {} });
      });
      await eventually(() => wakes === 2);
    });

    it('does not come for a transaction that rolled back', async () => {
      await database
        .inTransaction(async (tx) => {
          await append(tx, { queue: 'q', payload: {} });
          throw new Error('no');
        })
        .catch(() => {});
      await appendOne();
      await eventually(() => expect(wakes).toBeGreaterThanOrEqual(2));
      expect(wakes).toBe(2);
    });

    it('listens again after its connection was cut, and wakes for what it may have missed', async () => {
      const killer = new pg.Client({ connectionString: place.url });
      await killer.connect();
      const cut = await killer.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace-outbox-wake-up'",
      );
      await killer.end();
      expect(cut.rowCount).toBe(1);
      await eventually(() => wakes === 2);
      await appendOne();
      await eventually(() => wakes === 3);
    });
  });

  it('says once that it leaves everything to polling behind a pooler in transaction mode', async () => {
    const place = await testDatabase('postgres');
    const pooler = await startPgBouncer({ target: place.url });
    const lines: string[] = [];
    const logger = createLogger({
      service: 's',
      workerId: 'w',
      level: 'warn',
      stream: { write: (line: string) => void lines.push(line) },
    });
    const wakeUp = new PostgresWakeUp(pooler.url, () => {}, logger);
    await wakeUp.start();
    await eventually(() => expect(lines.join('')).toContain('the outbox is polled instead'));
    await wakeUp.stop();
    expect(lines).toHaveLength(1);
    await pooler.stop();
    await place.remove();
  });

  it('hears through a pooler in session mode', async () => {
    const place = await testDatabase('postgres');
    const pooler = await startPgBouncer({ target: place.url, mode: 'session' });
    let wakes = 0;
    const wakeUp = new PostgresWakeUp(pooler.url, () => wakes++, silentLogger);
    await wakeUp.start();
    await eventually(() => wakes > 0);
    await wakeUp.stop();
    await pooler.stop();
    await place.remove();
  });

  describe('wake-up by PostgreSQL that is away', () => {
    serviceContract(
      'PostgresWakeUp',
      () => new PostgresWakeUp('postgres://127.0.0.1:1/none', () => {}, silentLogger),
      (service) => (service as unknown as { running?: object }).running !== undefined,
    );
  });
});
