import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Database, execute } from '#database';
import { deepen, verify, writeProof, type Proof } from '#proof';
import { Metrics, silentLogger } from '#service';
import { useRunRig } from '../e2e/run-rig.js';

type Finder = 'verify' | 'deep';
interface World {
  tree: string;
  out: string;
  sql: (...statements: string[]) => Promise<void>;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const batchFile = (out: string): string =>
  join(out, readdirSync(out).find((name) => name.startsWith('batch-')) ?? '');
const of = (name: string): string => `(SELECT id FROM files WHERE name = '${name}')`;

/** What is made untrue after a proven run, which of the two must find it, and the name it is told under. */
const LIES: readonly [lie: string, finder: Finder, named: string, plant: (world: World) => unknown][] = [
  [
    'the path of a row',
    'verify',
    'in-its-folder',
    ({ sql }) => sql(`UPDATE files SET path = '/etc/passwd' WHERE name = 'a.txt'`),
  ],
  [
    'the hash of a row',
    'verify',
    'sent-as-recorded',
    ({ sql }) => sql(`UPDATE files SET hash_value = '${sha256('x')}' WHERE name = 'a.txt'`),
  ],
  [
    'two items exchanged',
    'verify',
    'sent-as-recorded',
    ({ sql }) =>
      sql(
        `UPDATE batch_items SET content_hash = (SELECT hash_value FROM files WHERE name = 'b.txt') WHERE file_id = ${of('a.txt')}`,
      ),
  ],
  [
    'an item cut out',
    'verify',
    'whole-batches',
    ({ sql }) => sql(`DELETE FROM batch_items WHERE file_id = ${of('a.txt')}`),
  ],
  [
    'an effect cut out',
    'verify',
    'one-effect',
    ({ sql }) => sql(`DELETE FROM analyses WHERE file_id = ${of('a.txt')}`),
  ],
  [
    'a batch called open',
    'verify',
    'no-effect-without-delivery',
    ({ sql }) => sql('UPDATE batches SET completed_at = NULL'),
  ],
  [
    'a folder that had an error',
    'verify',
    'folder-not-listed',
    ({ sql }) => sql(`UPDATE folders SET error_status = 'EACCES'`),
  ],
  [
    'a scan that did not complete',
    'verify',
    'scan-not-completed',
    ({ sql }) => sql(`UPDATE scans SET outcome = 'failed'`),
  ],
  [
    'a file called unreadable',
    'verify',
    'not-readable',
    ({ sql }) => sql(`UPDATE files SET status = 'skipped', skip_reason = 'unreadable' WHERE name = 'a.txt'`),
  ],
  [
    'a file called failed that nobody knows of',
    'verify',
    'failed-with-letter',
    ({ sql }) => sql(`UPDATE files SET status = 'failed' WHERE name = 'a.txt'`),
  ],
  [
    'a file called sent in a revision that no batch holds',
    'verify',
    'batched-in-a-batch',
    ({ sql }) => sql(`UPDATE files SET sent_revision = 9 WHERE name = 'a.txt'`),
  ],
  [
    'a gap between parts',
    'verify',
    'all-parts',
    ({ sql }) =>
      sql(
        `UPDATE batch_items SET byte_start = byte_start + 1 WHERE file_id = ${of('large.txt')} AND part = 2`,
      ),
  ],
  [
    'an open batch without its event',
    'verify',
    'one-event',
    ({ sql }) => sql('UPDATE batches SET completed_at = NULL', 'DELETE FROM analyses', 'DELETE FROM outbox'),
  ],
  [
    'a folder elsewhere',
    'verify',
    'in-its-folder',
    ({ sql }) => sql(`UPDATE folders SET path = '/elsewhere/sub' WHERE path LIKE '%/sub'`),
  ],
  [
    'another content sent of a file that was hashed by another algorithm',
    'deep',
    'tree-as-sent',
    ({ sql }) =>
      sql(
        `UPDATE files SET hash_algorithm = 'sha512', hash_value = '${sha256('x')}' WHERE name = 'a.txt'`,
        `UPDATE batch_items SET content_hash = '${sha256('x')}' WHERE file_id = ${of('a.txt')}`,
      ),
  ],
  [
    'a copy that is none',
    'deep',
    'skipped-as-told',
    ({ sql }) =>
      sql(
        `UPDATE files SET status = 'skipped', skip_reason = 'duplicate', hash_value = '${sha256('x')}' WHERE name = 'b.txt'`,
      ),
  ],
  [
    'two batch files exchanged',
    'deep',
    'output-as-sent',
    ({ out }) => {
      const [one = '', other = ''] = readdirSync(out)
        .filter((name) => name.startsWith('batch-'))
        .map((name) => join(out, name));
      const text = readFileSync(one);
      writeFileSync(one, readFileSync(other));
      writeFileSync(other, text);
    },
  ],
  [
    'a row marked removed',
    'deep',
    'not-scanned',
    ({ sql }) => sql(`UPDATE files SET removed = 1 WHERE name = 'a.txt'`),
  ],
  [
    'another content recorded and sent',
    'deep',
    'tree-as-sent',
    ({ sql }) =>
      sql(
        `UPDATE files SET hash_value = '${sha256('x')}', sent_hash = '${sha256('x')}' WHERE name = 'a.txt'`,
        `UPDATE batch_items SET content_hash = '${sha256('x')}' WHERE file_id = ${of('a.txt')}`,
      ),
  ],
  [
    'a part that ends too early',
    'deep',
    'tree-as-sent',
    ({ sql }) => sql(`UPDATE batch_items SET byte_end = byte_end - 1 WHERE file_id = ${of('a.txt')}`),
  ],
  [
    'an empty file that is none',
    'deep',
    'skipped-as-told',
    ({ sql }) => sql(`UPDATE files SET status = 'skipped', skip_reason = 'empty' WHERE name = 'b.txt'`),
  ],
  [
    'a binary file that is none',
    'deep',
    'skipped-as-told',
    ({ sql }) => sql(`UPDATE files SET status = 'skipped', skip_reason = 'binary' WHERE name = 'b.txt'`),
  ],
  ['a batch file cut', 'deep', 'output-as-sent', ({ out }) => truncateSync(batchFile(out), 10)],
  ['a batch file deleted', 'deep', 'output-as-sent', ({ out }) => rmSync(batchFile(out))],
  [
    'a byte of a batch file',
    'deep',
    'output-as-sent',
    ({ out }) =>
      writeFileSync(
        batchFile(out),
        readFileSync(batchFile(out), 'latin1').replace('alpha', 'alphb'),
        'latin1',
      ),
  ],
  [
    'a batch that nobody sent',
    'deep',
    'no-stray-batch',
    ({ out }) => writeFileSync(join(out, 'batch-00000000-0000-4000-8000-000000000000.md'), 'x'),
  ],
  [
    'a destination elsewhere',
    'deep',
    'output-as-sent',
    ({ sql }) => sql(`UPDATE pipeline SET address = '/nowhere'`),
  ],
  // What touches the tree comes last: a tree put back has other times, and what differs then counts as edited.
  [
    'a file that nobody has seen',
    'deep',
    'not-scanned',
    ({ tree }) => writeFileSync(join(tree, 'new.txt'), 'new\n'),
  ],
  ['a file deleted since', 'deep', 'gone', ({ tree }) => rmSync(join(tree, 'a.txt'))],
  [
    'a folder moved away',
    'deep',
    'gone',
    ({ tree }) => renameSync(join(tree, 'sub'), join(tree, '..', 'elsewhere')),
  ],
  ['a file edited since', 'deep', 'edited', ({ tree }) => writeFileSync(join(tree, 'a.txt'), 'edited\n')],
  ['the whole tree away', 'deep', 'not-readable-now', ({ tree }) => rmSync(tree, { recursive: true })],
];

it('there are at least 25 lies', () => expect(LIES.length).toBeGreaterThanOrEqual(25));

describe('after a proven run', () => {
  const rig = useRunRig('group');
  const kept = (): string => join(rig.folder.path, 'kept');
  let database: Database;
  const open = async (): Promise<void> => {
    const url = `sqlite:${join(rig.data, 'millrace.db')}`;
    database = new Database({ url, logger: silentLogger, metrics: new Metrics(), migrations: 'check' });
    await database.start();
  };
  let touched = false;
  const world = (): World => ({
    get tree() {
      touched = true;
      return rig.tree;
    },
    out: rig.out,
    sql: (...statements) =>
      database.inTransaction(async (tx) => {
        for (const statement of statements) await execute(tx, statement);
      }),
  });
  const proofBy = async (finder: Finder): Promise<Proof> => {
    const proof = await verify(database);
    return finder === 'verify' ? proof : deepen(database, proof, { ownPaths: [rig.data] });
  };
  const told = ({ checks, exceptions }: Proof): string[] => [
    ...checks.filter(({ ok }) => !ok).map(({ name }) => name),
    ...exceptions.map(({ name }) => name),
  ];

  beforeAll(async () => {
    mkdirSync(join(rig.tree, 'sub'));
    for (const [name, content] of [
      ['a.txt', 'alpha\n'],
      ['b.txt', 'beta\n'],
      ['sub/c.txt', 'gamma\n'],
      ['empty.txt', ''],
      ['binary.bin', '\0\x01\x02'],
      ['line\nend \\.txt', 'delta\n'],
      ['large.txt', 'one two three four five\n'.repeat(600)],
    ] as const)
      writeFileSync(join(rig.tree, name), content);
    await rig.succeed(rig.run('--max-tokens', '2000'));
    for (const part of ['tree', 'out', 'data'] as const)
      cpSync(rig[part], join(kept(), part), { recursive: true, preserveTimestamps: true });
  }, 120_000);
  beforeEach(open);
  afterEach(async () => {
    await database.stop();
    for (const part of touched ? (['tree', 'out', 'data'] as const) : (['out', 'data'] as const)) {
      rmSync(rig[part], { recursive: true, force: true });
      cpSync(join(kept(), part), rig[part], { recursive: true, preserveTimestamps: true });
    }
    rmSync(join(rig.folder.path, 'elsewhere'), { recursive: true, force: true });
    touched = false;
  });
  afterAll(() => rmSync(kept(), { recursive: true, force: true }));

  it('both looks prove what is so', async () => {
    const proof = await proofBy('deep');
    expect({ verdict: proof.verdict, told: told(proof) }).toEqual({ verdict: 'proven', told: [] });
  });

  it.each(LIES)('%s, made untrue, is found by %s as %s', async (_, finder, named, plant) => {
    await plant(world());
    const proof = await proofBy(finder);
    expect(told(proof)).toContain(named);
    expect(['violated', 'proven except']).toContain(proof.verdict);
  });

  it.each(LIES.filter(([, finder]) => finder === 'deep'))(
    '%s is for the deep look alone',
    async (_, __, ___, plant) => {
      await plant(world());
      expect((await proofBy('verify')).verdict).toBe('proven');
    },
  );

  it('the proof can be checked without us', async () => {
    const folder = join(rig.folder.path, 'proof');
    expect(await writeProof(database, await proofBy('deep'), folder)).toEqual(['sources.sha256']);
    const check = (cwd: string, list: string): string =>
      execFileSync('sha256sum', ['--strict', '-c', join(folder, list)], { cwd, encoding: 'utf8' });
    expect(check(rig.tree, 'sources.sha256').match(/: OK$/gm)).toHaveLength(5);
    const batches = readdirSync(rig.out).filter((name) => name.startsWith('batch-'));
    expect(batches.length).toBeGreaterThan(1);
    expect(check(folder, 'manifest-sha256.txt').match(/: OK$/gm)).toHaveLength(batches.length);
    expect(check(folder, 'tagmanifest-sha256.txt')).toContain('verdict.json: OK');
    await expect(writeProof(database, await proofBy('verify'), folder)).rejects.toMatchObject({
      code: 'PROOF_FOLDER',
    });
  });
});
