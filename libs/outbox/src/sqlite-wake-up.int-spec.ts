import { describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Database } from '#database';
import { Metrics, silentLogger } from '#service';
import { eventually, guardLeaks, serviceContract, testDatabase, withTempFolder } from '#testing';
import { append } from './append.js';
import { SqliteWakeUp } from './sqlite-wake-up.js';

describe('wake-up by SQLite', () => {
  guardLeaks();

  it('comes soon after each commit of another connection', async () => {
    const place = await testDatabase('sqlite');
    const database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    let wakes = 0;
    const wakeUp = new SqliteWakeUp(place.url.slice('sqlite:'.length), () => wakes++, silentLogger);
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

  it('comes once more when a commit was seen by nobody at the first look', () =>
    withTempFolder(async (folder) => {
      let wakes = 0;
      const wakeUp = new SqliteWakeUp(join(folder, 'any.db'), () => wakes++, silentLogger);
      await wakeUp.start();
      try {
        // The only sign of it: what follows is written to shared memory.
        await writeFile(join(folder, 'any.db-wal'), '');
        await eventually(() => expect(wakes).toBe(2));
      } finally {
        await wakeUp.stop();
      }
    }));

  it('leaves everything to polling when the file cannot be watched', async () => {
    const wakeUp = new SqliteWakeUp('/nowhere/at/all.db', () => {}, silentLogger);
    await wakeUp.start();
    expect(wakeUp.running).toBe(false);
    await wakeUp.stop();
  });

  serviceContract(
    'SqliteWakeUp',
    () => new SqliteWakeUp(`${process.cwd()}/any.db`, () => {}, silentLogger),
    (service) => (service as SqliteWakeUp).running,
  );
});
