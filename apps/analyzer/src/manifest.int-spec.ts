import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Database, type Pipeline } from '#database';
import { Metrics, silentLogger } from '#service';
import { DATABASE_KINDS, tempFolder, testDatabase, type TempFolder, type TestDatabase } from '#testing';
import type { AnalyzerConfig } from './analyzer.config.js';
import { batchId, batchParts, delivered, stale } from './batch-parts.fixture.js';
import { DeliveryRepository } from './delivery.repository.js';
import { ManifestService } from './manifest.service.js';

interface Manifest {
  batches: { id: string; file: string | null; files: { path: string; part: number; outcome: string }[] }[];
}

describe.each(DATABASE_KINDS)('the manifest on %s', (kind) => {
  let home: TestDatabase;
  let folder: TempFolder;
  let database: Database;
  let out: string;
  beforeEach(async () => {
    home = await testDatabase(kind);
    folder = await tempFolder('manifest');
    out = join(folder.path, 'out');
    await mkdir(out);
    database = new Database({ url: home.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    await batchParts(database);
  });
  afterEach(async () => {
    await database.stop();
    await home.remove();
    await folder.remove();
  });

  const writeManifest = async (): Promise<Manifest> => {
    const config = { SINK: 'write', OUTPUT_DIRECTORY: out, OUTPUT_FORMAT: 'markdown', PATH_BASE: '/r' };
    const manifest = new ManifestService(
      ...([config as AnalyzerConfig, database, { row: { id: 'p1' } } as Pipeline, silentLogger] as const),
    );
    manifest.delivered();
    await manifest.stop();
    return JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8')) as Manifest;
  };
  const name = (fileId: number, part: number): string => `batch-${batchId(fileId, part)}.md`;

  it('lists parts that were sent before their file changed, and takes their batch files out of the output', async () => {
    const deliveries = new DeliveryRepository(database);
    await deliveries.recordAll([delivered(1, 1), delivered(1, 2), delivered(2, 1)]);
    const strangers = ['batch-b-9-9.md', 'notes.md'];
    for (const each of [name(1, 1), name(1, 2), name(2, 1), ...strangers])
      await writeFile(join(out, each), 'x');
    expect((await writeManifest()).batches.map(({ file }) => file)).toEqual([
      ...[name(1, 1), name(1, 2), name(2, 1)],
    ]);
    await deliveries.recordAll([stale(1, 3, 'changed')]);
    const files = (part: number): object[] => [
      expect.objectContaining({ path: 'f-1', part, outcome: 'superseded' }),
    ];
    const expected = [
      { id: batchId(1, 1), file: null, files: files(1) },
      { id: batchId(1, 2), file: null, files: files(2) },
      { id: batchId(2, 1), file: name(2, 1), files: [{ path: 'f-2', part: 1, outcome: 'delivered' }] },
    ];
    expect((await writeManifest()).batches).toMatchObject(expected);
    expect((await readdir(out)).sort()).toEqual([name(2, 1), 'manifest.json', ...strangers].sort());
    expect((await writeManifest()).batches).toMatchObject(expected);
  });

  it('asks the database as often for many batches as for one', async () => {
    const many = Array.from({ length: 9 }, (_, index) => delivered(index + 1, 1));
    for (const { id } of many) await writeFile(join(out, `batch-${id}.md`), 'x');
    await new DeliveryRepository(database).recordAll(many);
    let reads = 0;
    const read = database.read.bind(database);
    database.read = (work) => {
      reads++;
      return read(work);
    };
    expect((await writeManifest()).batches).toHaveLength(9);
    expect(reads).toBe(2);
  });
});
