import { describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { verify } from '#proof';
import { DATABASE_KINDS, emptyDatabase, type DatabaseKind, type TestDatabase } from '#testing';
import { allRows, openDatabase } from '../../libs/database/src/database.fixture.js';
import { MIGRATIONS } from '../../libs/database/src/migrations/index.js';
import { SCHEMA_TYPES } from '../../libs/database/src/migrations/migration.js';
import { useRunRig } from '../e2e/run-rig.js';
import { loadDump, readDumps, type SchemaDump } from './schema-dump.js';
import { BUDGET, contentOf, FILES } from './tree.js';

const DUMPS = await readDumps();
const upTo = (version: number): SchemaDump[] => DUMPS.slice(0, version);

describe('released migrations', () => {
  it('have a dump each, the newest perhaps not yet (test/upgrades/make-dump.ts makes it)', () => {
    const released = MIGRATIONS.map(({ version }) => version).slice(
      0,
      Math.max(DUMPS.length, MIGRATIONS.length - 1),
    );
    expect(DUMPS.map(({ version }) => version)).toEqual(released);
  });

  it.each(DUMPS)('are not edited: $version, $name', ({ version, name, statements }) => {
    const migration = MIGRATIONS[version - 1]!;
    expect(migration.name).toBe(name);
    for (const kind of DATABASE_KINDS)
      expect(migration.statements(SCHEMA_TYPES[kind])).toEqual(statements[kind]);
  });
});

describe.each(DATABASE_KINDS)('a database of an older version, on %s', (kind) => {
  it.each(DUMPS)('keeps every row and every promise: $version, $name', async ({ version, rows }) => {
    await withDump(kind, version, async (target) => {
      const database = await openDatabase(target.url);
      for (const [table, before] of Object.entries(rows))
        expect([table, (await allRows(database, `SELECT 1 FROM ${table}`)).length]).toEqual([
          table,
          before.length,
        ]);
      const { verdict, checks } = await verify(database);
      await database.stop();
      expect(checks.filter(({ ok }) => !ok)).toEqual([]);
      expect(verdict).toBe('in flight');
    });
  });
});

describe('a run that an older version began', () => {
  const rig = useRunRig();

  it.each([
    ['sqlite', 3],
    // The dump of 12 was made by a release's own run.
    ['sqlite', 12],
    ['postgres', 12],
  ] as const)(
    'is brought to its end by this one, sending nothing again: %s, version %i',
    async (kind, version) => {
      for (const name of FILES) await writeFile(join(rig.tree, name), contentOf(name));
      await mkdir(rig.out);
      await withDump(
        kind,
        version,
        async ({ url }) => {
          const args = ['-o', 'json', 'run', rig.tree, '--out', rig.out, '--max-tokens', BUDGET];
          const { proof, delivered } = await rig.succeed(rig.millrace(args, { MILLRACE_DATABASE_URL: url }));
          expect(proof).toMatchObject({ verdict: 'proven', files: FILES.length });
          expect(delivered).toEqual({ files: 2, batches: 2 });
        },
        rig,
      );
    },
  );
});

async function withDump(
  kind: DatabaseKind,
  version: number,
  work: (target: TestDatabase) => Promise<void>,
  places = { tree: '/tree', out: '/out' },
): Promise<void> {
  const target = await emptyDatabase(kind);
  try {
    await loadDump(target.url, upTo(version), places);
    await work(target);
  } finally {
    await target.remove();
  }
}
