import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createLogger, silentLogger } from '#service';
import {
  eventually,
  PROJECT_ROOT,
  sharedRedis,
  spawnApp,
  tempFolder,
  emptyDatabase,
  type Child,
  type TempFolder,
  type TestDatabase,
} from '#testing';
import { createDatabase } from '../../libs/database/src/database.fixture.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from '../e2e/dlq-app.js';
import { makeTree } from '../e2e/tree.js';

const SUFFIX = randomUUID().slice(0, 8);
const PASSWORD = randomUUID();
const ROLES = ['owner', 'app', 'producer', 'batcher', 'publisher', 'analyzer', 'dlq'];
const APPS = ROLES.slice(2);

/** The fleet on a real PostgreSQL, each app as the role that deploy/postgres gives it. */
describe('the database roles of the apps', () => {
  const fleet: Child[] = [];
  let database: TestDatabase;
  let folder: TempFolder;
  let admin: TestDlqAdmin;
  let logged = '';

  const urlOf = (role: string): string => {
    const url = new URL(database.url);
    url.username = `millrace_${role}_${SUFFIX}`;
    url.password = PASSWORD;
    return url.href;
  };
  const sql = async (text: string, url = database.url): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client.query(text).finally(() => client.end());
  };
  const script = (name: string): string =>
    readFileSync(join(PROJECT_ROOT, 'deploy/postgres', name), 'utf8')
      .replaceAll(/\bmillrace_(owner|app|producer|batcher|publisher|analyzer|dlq)\b/g, `$&_${SUFFIX}`)
      .replaceAll(/'(owner|app|producer|batcher|publisher|analyzer|dlq)'/g, `'$1_${SUFFIX}'`);
  const run = (app: string, role: string, env: Record<string, string> = {}): Child => {
    const child = spawnApp(app, {
      REDIS_URL: sharedRedis().url,
      REDIS_PREFIX: admin.prefix,
      DATABASE_URL: urlOf(role),
      LOG_FORMAT: 'json',
      ...env,
    });
    fleet.push(child);
    return child;
  };

  beforeAll(async () => {
    database = await emptyDatabase('postgres');
    folder = await tempFolder('roles');
    await makeTree(join(folder.path, 'tree'), 20);
    await sql(script('roles.sql'));
    for (const role of ROLES) await sql(`ALTER ROLE millrace_${role}_${SUFFIX} PASSWORD '${PASSWORD}'`);
    const migrating = createDatabase(urlOf('owner'), { logger: silentLogger, poolSize: 2 });
    await migrating.start();
    await migrating.stop();
    await sql(script('app-roles.sql'), urlOf('owner'));
    const stream = { write: (line: string) => void (logged += line) };
    const logger = createLogger({ service: 'dlq-admin', workerId: 'w', level: 'info', stream });
    const env = { DATABASE_URL: urlOf('dlq'), SAMPLE_INTERVAL_MS: '1000' };
    admin = await startDlqAdmin('postgres', { env, logger });
  }, 90_000);

  afterAll(async () => {
    for (const child of fleet) await child.end('SIGKILL');
    await admin?.stop();
    await database.remove();
    await folder.remove();
    const server = new URL(database.url);
    server.pathname = '/postgres';
    await sql(`DROP ROLE ${ROLES.map((role) => `millrace_${role}_${SUFFIX}`).join(', ')}`, server.href);
  }, 90_000);

  it('are enough to carry a tree from the scan to the batches', async () => {
    run('batcher', 'batcher', { BATCHER_THREADS: '1' });
    run('outbox-publisher', 'publisher');
    run('analyzer', 'analyzer', { SINK: 'write', OUTPUT_DIRECTORY: join(folder.path, 'out') });
    const scan = run('producer', 'producer', { TARGET_DIRECTORY: join(folder.path, 'tree') });
    expect({ ...(await scan.exited), told: scan.stderr }).toEqual({ code: 0, signal: null, told: '' });
    const open = "SELECT 1 FROM files WHERE status NOT IN ('analyzed', 'skipped')";
    await eventually(async () => expect((await sql(open)).rows).toEqual([]), { timeoutMs: 60_000 });
    expect((await sql("SELECT 1 FROM files WHERE status = 'analyzed'")).rowCount).toBeGreaterThan(20);
    for (const { stdout } of fleet) expect(stdout).not.toContain('permission denied');
  }, 120_000);

  it('are enough for what dlq-admin does', async () => {
    await admin.send([deadLetter(), deadLetter(), deadLetter()]);
    await eventually(async () => expect((await admin.client.count()).count).toBe(3));
    const [first, second] = (await admin.client.letters()).items;
    await admin.client.change(first?.id ?? 0, 'discard');
    await admin.client.change(second?.id ?? 0, 'requeue');
    const { id } = await admin.withKey({ role: 'viewer' });
    await admin.client.revokeKey(id);
    const { confirm } = await admin.client.preview({ kind: 'discard', filter: { status: 'open' } });
    const bulk = await admin.client.startBulk({ kind: 'discard', filter: { status: 'open' }, confirm });
    await eventually(async () => expect((await admin.client.bulkAction(bulk.id)).status).toBe('completed'));
    await admin.client.letters({ text: 'cannot read' });
    await admin.client.stats();
    expect((await sql('SELECT 1 FROM audit_log')).rowCount).toBeGreaterThan(3);
    await eventually(async () =>
      expect((await sql('SELECT 1 FROM depth_samples')).rowCount).toBeGreaterThan(0),
    );
    expect(logged).not.toContain('permission denied');
  }, 60_000);

  it.each([
    ['producer', 'SELECT 1 FROM dead_letters'],
    ['producer', 'SELECT 1 FROM api_keys'],
    ['producer', 'DELETE FROM files'],
    ['batcher', 'SELECT 1 FROM api_keys'],
    ['batcher', 'UPDATE outbox SET queue = queue'],
    ['batcher', 'INSERT INTO dead_letter_groups DEFAULT VALUES'],
    ['publisher', 'SELECT 1 FROM files'],
    ['publisher', 'UPDATE dead_letters SET status = status'],
    ['analyzer', 'SELECT 1 FROM sessions'],
    ['analyzer', 'DELETE FROM analyses'],
    ['dlq', 'UPDATE audit_log SET action = action'],
    ['dlq', 'DELETE FROM audit_log'],
    ['dlq', 'DELETE FROM files'],
    ['dlq', 'DELETE FROM dead_letters'],
    ['dlq', 'INSERT INTO batches DEFAULT VALUES'],
  ])('keep %s from: %s', async (role, statement) => {
    await expect(sql(statement, urlOf(role))).rejects.toThrow(/permission denied/);
  });

  it.each(APPS)(
    'give %s no right over tables or roles, and none over the log of changes but to add',
    async (role) => {
      for (const statement of [
        'CREATE TABLE t (a int)',
        'CREATE ROLE r',
        'TRUNCATE files',
        'DELETE FROM audit_log',
      ])
        await expect(sql(statement, urlOf(role))).rejects.toThrow(/permission denied/);
      await expect(sql('DROP TABLE files', urlOf(role))).rejects.toThrow(/must be owner/);
      const made = await sql(
        `SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user`,
        urlOf(role),
      );
      expect(made.rows).toEqual([{ rolsuper: false, rolcreaterole: false, rolcreatedb: false }]);
    },
  );
});
