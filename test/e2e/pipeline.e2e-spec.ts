import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { folderDestination } from '#contracts';
import { Database, joinPipeline } from '#database';
import { Metrics, silentLogger } from '#service';
import { spawnApp, tempFolder, testDatabase, type TempFolder, type TestDatabase } from '#testing';

describe('a process of another pipeline', () => {
  let place: TestDatabase;
  let folder: TempFolder;
  beforeEach(async () => {
    place = await testDatabase('sqlite');
    folder = await tempFolder('pipeline');
    const database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    await joinPipeline(database, folderDestination('/out/of/team-a', 'markdown'));
    await database.stop();
  });
  afterEach(async () => {
    await place.remove();
    await folder.remove();
  });

  it('ends with 78 before any work, naming both destinations and the cure', async () => {
    const analyzer = spawnApp('analyzer', {
      DATABASE_URL: place.url,
      OUTPUT_DIRECTORY: join(folder.path, 'team-b'),
      // Nobody is there: it is refused before it looks.
      REDIS_URL: `unix://${join(folder.path, 'no-redis.sock')}`,
      LOG_FORMAT: 'json',
    });
    expect((await analyzer.exited).code).toBe(78);
    expect(analyzer.stdout).toMatch(/\/out\/of\/team-a .*team-b.*--move-to/);
  });
});
