import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createRedisClient, parseRedisUrl } from '#redis';
import {
  eventually,
  freePort,
  startRedis,
  tempFolder,
  testDatabase,
  type Child,
  type RedisServer,
  type TempFolder,
  type TestDatabase,
} from '#testing';
import { appOf, rendered, textOf } from './deploy-files.js';
import { giveToContainers, runContainer } from './deploy-container.js';
import { expressions, metricsIn } from './deploy-observability.js';
import { environmentOf, isOurs, podsOf, secretsOf } from './deploy-pods.js';
import { filesBelow, makeTree } from './tree.js';

const FLEETS = ['batcher', 'outbox-publisher', 'analyzer', 'dlq-admin'];
const CLI = ['dist/apps/cli/src/main.js'];
const KEY = randomUUID();
const SLOW = 120_000;

const manifests = rendered('deploy/kubernetes/overlays/laptop');
const containers = new Map(
  podsOf(manifests)
    .filter(isOurs)
    .map(({ spec }) => {
      const [container] = spec.containers;
      if (!container) throw new Error('a pod without a container');
      return [appOf(container.args), container] as const;
    }),
);

/** The laptop's manifests as plain processes: their arguments, their environment, one database and Redis with users. */
describe('the containers of the Kubernetes manifests', () => {
  const suffix = randomUUID().slice(0, 8);
  const ports = new Map<string, number>();
  const fleet = new Map<string, Child>();
  let folder: TempFolder;
  let redis: RedisServer;
  let database: TestDatabase;

  const inFolder = (name: string): string => join(folder.path, name);
  const redisUrl = (): string => `redis://millrace:${KEY}@127.0.0.1:${redis.port}`;
  const databaseUrl = (role: string): string => {
    const url = new URL(database.url);
    url.username = `${role}_${suffix}`;
    url.password = KEY;
    return url.href;
  };
  const sql = async (text: string, url = database.url): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client.query(text).finally(() => client.end());
  };

  const environment = (app: string): Record<string, string> => {
    const container = containers.get(app);
    if (!container) throw new Error(`no container runs ${app}`);
    const given = environmentOf(container, manifests, secretsOf('laptop', manifests));
    const placed = Object.entries(given).map(([key, value]) => [
      key,
      value.replace(/^\/(tree|batches|keys)\b/, (_, name: string) => inFolder(name)),
    ]);
    return {
      ...(Object.fromEntries(placed) as Record<string, string>),
      DATABASE_URL: databaseUrl(app === 'cli' ? 'millrace_owner' : 'millrace_app'),
      ...(given.REDIS_URL && { REDIS_URL: redisUrl() }),
      HOST: '127.0.0.1',
      PORT: String(ports.get(app) ?? 0),
    };
  };
  const run = (app: string, env = environment(app)): Child =>
    runContainer(containers.get(app)?.args ?? [], env);
  const get = (app: string, path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${ports.get(app)}${path}`, { headers: { Authorization: `Bearer ${KEY}` } });
  const status = async (app: string, path: string): Promise<number> => {
    const response = await get(app, path);
    await response.arrayBuffer();
    return response.status;
  };

  beforeAll(async () => {
    folder = await tempFolder('containers');
    chmodSync(folder.path, 0o755);
    await makeTree(inFolder('tree'), 40);
    for (const name of ['batches', 'keys']) mkdirSync(inFolder(name));
    writeFileSync(inFolder('keys/admin'), `${KEY}\n`, { mode: 0o400 });
    const hash = createHash('sha256').update(KEY).digest('hex');
    const users = textOf('deploy/redis/users.acl.example').replaceAll(/#0{64}/g, `#${hash}`);
    writeFileSync(inFolder('users.acl'), users);
    for (const name of ['batches', 'keys/admin']) giveToContainers(inFolder(name));
    redis = await startRedis({ args: ['--aclfile', inFolder('users.acl')] });
    database = await testDatabase('postgres');
    const roles = textOf('deploy/postgres/roles.sql').replaceAll(/millrace_(owner|app)/g, `$&_${suffix}`);
    await sql(roles.replaceAll(' LOGIN;', ` LOGIN PASSWORD '${KEY}';`));
    for (const app of FLEETS) ports.set(app, await freePort());
  }, SLOW);

  afterAll(async () => {
    for (const child of fleet.values()) await child.end('SIGKILL');
    await redis?.stop();
    await database.remove();
    const server = new URL(database.url);
    server.pathname = '/postgres';
    await sql(`DROP ROLE millrace_owner_${suffix}, millrace_app_${suffix}`, server.href);
    await folder.remove();
  }, SLOW);

  it(
    'wait, alive and not ready, until the migration has run as the owner; then all are ready',
    async () => {
      for (const app of FLEETS) fleet.set(app, run(app));
      for (const app of FLEETS) {
        await fleet.get(app)?.output('start a process that may migrate first', 60_000);
        expect(await status(app, '/health/live')).toBe(200);
        expect(await status(app, '/health/startup')).toBe(503);
      }
      const migration = run('cli');
      expect({ ...(await migration.exited), stderr: migration.stderr }).toEqual({
        code: 0,
        signal: null,
        stderr: '',
      });
      for (const app of FLEETS)
        await eventually(async () => expect(await status(app, '/health/ready')).toBe(200), {
          timeoutMs: 60_000,
        });
    },
    SLOW * 2,
  );

  it('have their probes answered by the image’s own program', async () => {
    const probe = (kind: string, PORT: number): Promise<{ code: number | null }> =>
      runContainer(['deploy/probe.mjs', kind], { PORT: String(PORT) }).exited;
    for (const kind of ['live', 'ready', 'startup'])
      expect(await probe(kind, ports.get('batcher') ?? 0)).toMatchObject({ code: 0 });
    expect(await probe('ready', await freePort())).toMatchObject({ code: 1 });
  });

  it(
    'carry a tree from the scan to the batches, and the outcome is proven',
    async () => {
      const scan = run('producer');
      expect({ ...(await scan.exited), stderr: scan.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
      // Seen from the tables first: a container's own look costs a process each time.
      await eventually(
        async () => {
          const { rows } = await sql(
            "SELECT 1 FROM files WHERE status <> 'analyzed' AND status <> 'skipped'",
          );
          expect(rows).toEqual([]);
        },
        { timeoutMs: 60_000, everyMs: 100 },
      );
      const proof = await eventually(
        async () => {
          const env = { ...environment('cli'), DATABASE_URL: databaseUrl('millrace_app') };
          const verify = runContainer([...CLI, '--data', inFolder('data'), 'verify', '-o', 'json'], env);
          expect({ ...(await verify.exited), stderr: verify.stderr }).toMatchObject({
            code: 0,
            stderr: expect.stringMatching(/^Pipeline \w{8} → .*\n$/),
          });
          const found = JSON.parse(verify.stdout) as { verdict: string; counts: { files: object } };
          expect(found.verdict).toBe('proven');
          return found;
        },
        { timeoutMs: 60_000, everyMs: 500 },
      );
      expect(proof.counts.files).toMatchObject({ analyzed: 43 });
      expect((await filesBelow(inFolder('batches'))).size).toBeGreaterThan(0);
    },
    SLOW,
  );

  it('report every metric, with every label, that dashboard, alerts and scalers ask for', async () => {
    const pages = await Promise.all(FLEETS.map(async (app) => (await get(app, '/metrics')).text()));
    const text = pages.join('\n');
    const known = new Set(
      [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
      ),
    );
    const asked = expressions().flatMap(({ where, text }) =>
      metricsIn(text).map((one) => ({ where, ...one })),
    );
    expect(asked.length).toBeGreaterThan(50);
    expect(asked.filter(({ name }) => !known.has(name))).toEqual([]);
    const samples = text.split('\n').filter((line) => line.startsWith('millrace_'));
    const lacking = asked.filter(({ name, labels }) => {
      const own = samples.filter((line) => line.startsWith(`${name}{`));
      return own.length > 0 && !labels.every((label) => own.some((line) => line.includes(`${label}="`)));
    });
    expect(lacking).toEqual([]);
    for (const queue of ['files-to-batch-queue', 'file-analysis-queue'])
      expect(text).toContain(`millrace_queue_oldest_waiting_seconds{queue="${queue}"}`);
    expect(await (await fetch(`http://127.0.0.1:${ports.get('dlq-admin')}/metrics`)).json()).toMatchObject({
      status: 401,
    });
  });

  it('have no right in Redis or the database that they do not use', async () => {
    const client = createRedisClient(parseRedisUrl(redisUrl()), { role: 'caller', name: 'test' });
    await once(client, 'ready');
    try {
      expect(await client.acl('WHOAMI')).toBe('millrace');
      for (const [command = '', ...args] of [
        ['FLUSHALL'],
        ['KEYS', '*'],
        ['CONFIG', 'GET', '*'],
        ['SHUTDOWN'],
        ['ACL', 'LIST'],
        ['SET', 'elsewhere', '1'],
        ['FUNCTION', 'LIST'],
      ])
        await expect(client.call(command, ...args)).rejects.toThrow(/NOPERM/);
    } finally {
      client.disconnect();
    }
    await expect(sql('CREATE TABLE t (a int)', databaseUrl('millrace_app'))).rejects.toThrow(
      /permission denied/,
    );
    await expect(sql('DROP TABLE files', databaseUrl('millrace_app'))).rejects.toThrow(/must be owner/);
  });

  it(
    'end with code 0 when they are told to',
    async () => {
      for (const app of FLEETS)
        expect([app, await fleet.get(app)?.end('SIGTERM')]).toEqual([app, { code: 0, signal: null }]);
    },
    SLOW,
  );
});
