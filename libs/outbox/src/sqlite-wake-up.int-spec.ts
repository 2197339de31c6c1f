import { describe, expect, it } from '@jest/globals';
import { Database } from '#database';
import { Metrics, silentLogger } from '#service';
import { eventually, guardLeaks, serviceContract, testDatabase } from '#testing';
import { append } from './append.js';
import { SqliteWakeUp } from './sqlite-wake-up.js';

describe('wake-up by SQLite', () => {
  guardLeaks();

  it('comes soon after each commit of another connection', async () => {
    const place = await testDatabase('sqlite');
    const database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    let wakes = 0;
    const wakeUp = new SqliteWakeUp({
      path: place.url.slice('sqlite:'.length),
      logger: silentLogger,
      onWake: () => wakes++,
    });
    await wakeUp.start();
    try {
      for (let round = 0; round < 3; round++) {
        const before = wakes;
        await database.inTransaction((tx) => append(tx, { queue: 'q', payload: {} }));
        await eventually(() => expect(wakes).toBeGreaterThan(before));
      }
    } finally {
      await wakeUp.stop();
      await database.stop();
      await place.remove();
    }
  });

  it('leaves everything to polling when the file cannot be watched', async () => {
    const wakeUp = new SqliteWakeUp({ path: '/nowhere/at/all.db', logger: silentLogger, onWake: () => {} });
    await wakeUp.start();
    expect(wakeUp.running).toBe(false);
    await wakeUp.stop();
  });

  serviceContract(
    'SqliteWakeUp',
    () => new SqliteWakeUp({ path: `${process.cwd()}/any.db`, logger: silentLogger, onWake: () => {} }),
    (service) => (service as SqliteWakeUp).running,
  );
});
