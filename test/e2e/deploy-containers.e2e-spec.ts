import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { QUEUE } from '#contracts';
import { DlqClient } from '#dlq-client';
import { ANY_PAYLOAD, QueueManager } from '#queue-manager';
import { createRedisClient, parseRedisUrl } from '#redis';
import { Metrics, silentLogger } from '#service';
import {
  eventually,
  freePort,
  pipelineRedis,
  startRedis,
  tempFolder,
  emptyDatabase,
  type Child,
  type RedisServer,
  type TempFolder,
  type TestDatabase,
} from '#testing';
import { appOf, rendered, textOf } from './deploy-files.js';
import { giveToContainers, runContainer } from './deploy-container.js';
import { expressions, metricsIn } from './deploy-observability.js';
import { environmentOf, isOurs, podsOf } from './deploy-pods.js';
import { laptopSecrets, makeSecrets } from './deploy-secrets.js';
import { deadLetter, sendLetters } from './dlq-app.js';
import { filesBelow, makeTree } from './tree.js';

const FLEETS = ['batcher', 'outbox-publisher', 'analyzer', 'dlq-admin'];
const CLI = ['dist/apps/cli/src/main.js'];
const APPS = ['producer', ...FLEETS];
const SLOW = 120_000;

const pairs = (list: unknown[]): [unknown, unknown][] =>
  list.flatMap((value, index) => (index % 2 === 0 ? [[value, list[index + 1]] as [unknown, unknown]] : []));

type Call = (command: string, ...args: string[]) => Promise<unknown>;

const manifests = rendered('deploy/kubernetes/overlays/laptop');
const containers = new Map(
  podsOf(manifests)
    .filter((pod) => isOurs(pod) && pod.owner.metadata.name !== 'verify')
    .map(({ spec }) => {
      const [container] = spec.containers;
      if (!container) throw new Error('a pod without a container');
      return [appOf(container.args), container] as const;
    }),
);

/** The laptop's manifests as plain processes: their arguments, their environment, their secrets, a user and a role for each. */
describe('the containers of the Kubernetes manifests', () => {
  const suffix = randomUUID().slice(0, 8);
  const ports = new Map<string, number>();
  const fleet = new Map<string, Child>();
  let folder: TempFolder;
  let redis: RedisServer;
  let database: TestDatabase;

  const inFolder = (name: string): string => join(folder.path, name);
  const secret = (path: string): string => readFileSync(inFolder(`secrets/${path}`), 'utf8');
  /** Roles are the server's, which other tests use, too: each has a name of its own here. */
  const ownRoles = (text: string): string =>
    text
      .replaceAll(/\bmillrace_(owner|app|producer|batcher|publisher|analyzer|dlq)\b/g, `$&_${suffix}`)
      .replaceAll(/'(owner|app|producer|batcher|publisher|analyzer|dlq)'/g, `'$1_${suffix}'`);
  const sql = async (text: string, url = database.url): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client.query(text).finally(() => client.end());
  };

  const environment = (app: string): Record<string, string> => {
    const container = containers.get(app);
    if (!container) throw new Error(`no container runs ${app}`);
    const given = environmentOf(container, manifests, laptopSecrets(inFolder('secrets')));
    const placed = Object.entries(given).map(([key, value]) => [
      key,
      value.replace(/^\/(tree|batches|keys)\b/, (_, name: string) => inFolder(name)),
    ]);
    return {
      ...(Object.fromEntries(placed) as Record<string, string>),
      DATABASE_URL: ownRoles(given.DATABASE_URL ?? ''),
      HOST: '127.0.0.1',
      PORT: String(ports.get(app) ?? 0),
    };
  };
  const argsOf = (app: string): string[] =>
    (containers.get(app)?.args ?? []).map((word) =>
      word.endsWith('app-roles.sql') ? inFolder('app-roles.sql') : word,
    );
  const run = (app: string, env = environment(app)): Child => runContainer(argsOf(app), env);
  const get = (app: string, path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${ports.get(app)}${path}`, {
      headers: { Authorization: `Bearer ${secret('dlq-admin/ADMIN_KEY')}` },
    });
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
    makeSecrets(inFolder('secrets'));
    redis = await startRedis({ args: ['--aclfile', inFolder('secrets/redis/users.acl')] });
    database = await emptyDatabase('postgres');
    const { host, pathname } = new URL(database.url);
    makeSecrets(inFolder('secrets'), {
      REDIS_AT: `redis://127.0.0.1:${redis.port}`,
      POSTGRES_AT: `${host}${pathname}`,
    });
    writeFileSync(inFolder('keys/admin'), secret('dlq-admin/ADMIN_KEY'), { mode: 0o400 });
    writeFileSync(inFolder('app-roles.sql'), ownRoles(textOf('deploy/postgres/app-roles.sql')));
    for (const name of ['batches', 'keys/admin']) giveToContainers(inFolder(name));
    await sql(ownRoles(secret('postgres/init.sql')));
    for (const app of FLEETS) ports.set(app, await freePort());
  }, SLOW);

  afterAll(async () => {
    for (const child of fleet.values()) await child.end('SIGKILL');
    await redis?.stop();
    await database.remove();
    const server = new URL(database.url);
    server.pathname = '/postgres';
    const roles = ['owner', 'app', 'producer', 'batcher', 'publisher', 'analyzer', 'dlq'];
    await sql(`DROP ROLE ${roles.map((role) => `millrace_${role}_${suffix}`).join(', ')}`, server.href);
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
          const env = { ...environment('cli'), DATABASE_URL: ownRoles(secret('millrace/DATABASE_URL')) };
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

  /** What an app's user of Redis may do with queues. */
  const queuesOf = async (app: string, use: (queues: QueueManager) => Promise<unknown>): Promise<void> => {
    const redis = await pipelineRedis({ url: secret(`${app}/REDIS_URL`) }, database.url);
    const parts = { workerId: 'test', logger: silentLogger, metrics: new Metrics() };
    const queues = new QueueManager({ ...redis, ...parts });
    await queues.start();
    await use(queues).finally(() => queues.stop());
  };

  it(
    'dead-letter what cannot be done, take it in, and requeue in steps what can',
    async () => {
      const admin = new DlqClient({
        url: `http://127.0.0.1:${ports.get('dlq-admin')}`,
        key: secret('dlq-admin/ADMIN_KEY'),
      });
      const bad = { payload: { files: 'none' }, jobId: 'bad', attempts: 1 };
      await queuesOf('producer', (queues) => queues.enqueueJobs(QUEUE.filesToBatch, ANY_PAYLOAD, [bad]));
      const data = { fileId: 1, revision: 1, filePath: '/tree/a', fileSize: 1 };
      const letters = [1, 2].map(() => deadLetter({ queue: QUEUE.filesToBatch, data }));
      await queuesOf('batcher', (queues) => sendLetters(queues, letters));
      await eventually(async () => expect((await admin.count()).count).toBe(3), { timeoutMs: 60_000 });
      const ids = (await admin.letters({ error: 'Error' })).items.map(({ id }) => id);
      const { id } = await admin.startBulk({ kind: 'requeue', ids, canary: { steps: [1] } });
      await eventually(
        async () => expect(await admin.bulkAction(id)).toMatchObject({ status: 'completed', done: 2 }),
        { timeoutMs: 60_000 },
      );
    },
    SLOW,
  );

  const asUser = async <T>(user: string, ask: (call: Call) => Promise<T>): Promise<T> => {
    const url =
      user === 'operator'
        ? `redis://operator:${secret('passwords/redis-operator')}@127.0.0.1:${redis.port}`
        : secret(`${user}/REDIS_URL`);
    const client = createRedisClient(parseRedisUrl(url), { role: 'caller', name: 'test' });
    await once(client, 'ready');
    return ask((command, ...args) => client.call(command, ...args)).finally(() => client.disconnect());
  };

  it('were refused nothing by Redis of what they do', async () => {
    const log = (await asUser('operator', (call) => call('ACL', 'LOG', '100'))) as unknown[][];
    const facts = log.map((entry) => Object.fromEntries(pairs(entry)) as Record<string, string>);
    expect(facts.map(({ username, reason, object }) => `${username}: ${reason} ${object}`)).toEqual([]);
  });

  it('show their state to the command line, whose user only reads', async () => {
    const env = {
      ...environment('cli'),
      REDIS_URL: secret('millrace/REDIS_URL'),
      DATABASE_URL: ownRoles(secret('millrace/DATABASE_URL')),
    };
    const shown = runContainer([...CLI, '--data', inFolder('data'), 'status', '-o', 'json'], env);
    expect({ ...(await shown.exited), told: shown.stderr }).toMatchObject({ code: 0 });
    expect(shown.stdout).toContain('files-to-batch-queue');
    const key = '{millrace}:0:files-to-batch-queue:x';
    const writes: [string, ...string[]][] = [
      ['SET', key, '1'],
      ['EVAL', "return redis.call('DEL', KEYS[1])", '1', key],
    ];
    for (const write of writes)
      await expect(asUser('millrace', (call) => call(...write))).rejects.toThrow(/NOPERM|can't run/);
  });

  it.each(APPS)('may write what tells them that Redis is back: %s', async (app) => {
    await asUser(app, async (call) => {
      expect(await call('SET', '{millrace}:0:probe', '1', 'PX', '1000')).toBe('OK');
    });
  });

  it.each(APPS)('have no right in Redis that they do not use: %s', async (app) => {
    await asUser(app, async (call) => {
      expect(await call('ACL', 'WHOAMI').catch((error: Error) => error.message)).toMatch(/NOPERM/);
      for (const [command = '', ...args] of [
        ...[['FLUSHALL'], ['FLUSHDB'], ['KEYS', '*'], ['SCAN', '0'], ['RANDOMKEY'], ['DBSIZE']],
        ...[['CONFIG', 'GET', '*'], ['SHUTDOWN'], ['ACL', 'LIST'], ['CLIENT', 'LIST'], ['MONITOR']],
        ...[
          ['FUNCTION', 'LIST'],
          ['SUBSCRIBE', 'c'],
          ['SET', 'elsewhere', '1'],
          ['GET', 'elsewhere'],
        ],
        ['EVAL', "return redis.call('GET', 'elsewhere')", '0'],
      ])
        await expect(call(command, ...args)).rejects.toThrow(/NOPERM|permissions|can't|unknown command/i);
    });
  });

  it.each([
    ['analyzer', 'GET', '{millrace}:0:dlq-admin:limit:key:1:x'],
    ['analyzer', 'HGETALL', '{millrace}:0:files-to-batch-queue:f-1-1'],
    ['analyzer', 'GET', 'discovery-lock:0:/tree'],
    ['analyzer', 'DEL', '{millrace}:0:file-analysis-completed:wait'],
    ['batcher', 'LRANGE', '{millrace}:0:file-analysis-queue:wait', '0', '1'],
    ['batcher', 'DEL', 'discovery-lock:0:/tree'],
    ['producer', 'LRANGE', '{millrace}:0:dead-letter-queue:wait', '0', '1'],
    ['outbox-publisher', 'GET', 'discovery-lock:0:/tree'],
    ['outbox-publisher', 'DEL', '{millrace}:0:dead-letter-queue:wait'],
    [
      'outbox-publisher',
      'EVAL',
      "return redis.call('DEL', KEYS[1])",
      '1',
      '{millrace}:0:dead-letter-queue:wait',
    ],
    ['outbox-publisher', 'GET', '{millrace}:0:dlq-admin:limit:key:1:x'],
    ['dlq-admin', 'DEL', '{millrace}:0:file-analysis-completed:wait'],
    ['dlq-admin', 'DEL', 'discovery-lock:0:/tree'],
  ])('keep %s from: %s %s', async (app, command, ...args) => {
    await expect(asUser(app, (call) => call(command, ...args))).rejects.toThrow(/NOPERM/);
  });

  it('let nobody into Redis without a password, but to ask whether it lives', async () => {
    const at = `127.0.0.1:${redis.port}`;
    const probe = createRedisClient(parseRedisUrl(`redis://probe:any@${at}`), {
      role: 'caller',
      name: 'test',
    });
    await once(probe, 'ready').catch(() => {});
    expect(await probe.call('PING')).toBe('PONG');
    await expect(probe.call('GET', 'x')).rejects.toThrow(/NOPERM/);
    probe.disconnect();
    await expect(asUser('analyzer', (call) => call('AUTH', 'default', ''))).rejects.toThrow(/WRONGPASS/);
  });

  it.each(APPS)('have no right over tables: %s', async (app) => {
    const url = ownRoles(secret(`${app}/DATABASE_URL`));
    await expect(sql('CREATE TABLE t (a int)', url)).rejects.toThrow(/permission denied/);
    await expect(sql('DROP TABLE files', url)).rejects.toThrow(/must be owner/);
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
