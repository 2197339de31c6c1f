import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { QUEUE } from '#contracts';
import { createLogger } from '#service';
import {
  eventually,
  freePort,
  guardLeaks,
  spawnProgram,
  startRedis,
  withTempFolder,
  type Child,
  type RedisServer,
} from '#testing';
import { createManager, NOTE, notes } from '../testing/managers.js';
import type { QueueManager } from './queue-manager.js';

const run = promisify(execFile);

/** Starts a manager with a worker, sends jobs through it and closes it. */
async function roundTrip(options: {
  url: string;
  prefix?: string;
  tls?: { ca: string };
}): Promise<QueueManager> {
  const manager = createManager(options);
  try {
    await manager.start();
    const seen = new Set<string>();
    await manager
      .createWorker('q', NOTE, async ({ text }) => void seen.add(text), { concurrency: 5 })
      .start();
    await manager.enqueueJobs('q', NOTE, notes(50));
    await eventually(() => expect(seen.size).toBe(50));
    return manager;
  } finally {
    await manager.closeConnections();
  }
}

describe('REDIS_URL', () => {
  guardLeaks();

  it('may name a unix socket', async () => {
    await withTempFolder(async (folder) => {
      const socket = join(folder, 'redis.sock');
      const redis = await startRedis({ args: ['--unixsocket', socket] });
      await roundTrip({ url: `unix://${socket}?db=1` }).finally(() => redis.stop());
    });
  });

  it('may name a server behind TLS and a password, and refuses a certificate it cannot trust', async () => {
    await withTempFolder(async (folder) => {
      const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
      await run('openssl', [
        ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
        ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
      ]);
      const tlsPort = await freePort();
      const redis = await startRedis({
        args: [
          ...['--tls-port', String(tlsPort), '--tls-cert-file', cert, '--tls-key-file', key],
          ...['--tls-ca-cert-file', cert, '--tls-auth-clients', 'no', '--requirepass', 'p@ss/word'],
        ],
      });
      const url = `rediss://:p%40ss%2Fword@127.0.0.1:${tlsPort}`;
      try {
        await roundTrip({ url, tls: { ca: await readFile(cert, 'utf8') } });
        const distrustful = createManager({ url });
        await expect(distrustful.start()).rejects.toMatchObject({
          code: 'REDIS_UNAVAILABLE',
          cause: expect.objectContaining({ code: expect.stringMatching(/CERT/) }),
        });
        await distrustful.closeConnections();
      } finally {
        await redis.stop();
      }
    });
  }, 60_000);

  it('may name a cluster, whose primaries share the queues; dead letters go from one to another', async () => {
    const nodes = await startCluster();
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const manager = createManager({
      url: `redis+cluster://127.0.0.1:${nodes[0]!.port}`,
      prefix: '{mine}:00',
      attempts: 1,
      logger: createLogger({ service: 's', workerId: 'w', level: 'warn', stream }),
    });
    try {
      const queues = [QUEUE.filesToBatch, QUEUE.fileAnalysis];
      for (const node of nodes)
        await node.command('HSET', `{mine}:00:${QUEUE.filesToBatch}:meta`, 'version', 'older');
      for (const queue of queues) manager.getQueue(queue);
      await manager.start();
      const told = lines.filter((line) => line.includes('an older version left keys'));
      expect(told).toEqual([expect.stringContaining(`"queue":"${QUEUE.filesToBatch}"`)]);
      const seen = new Set<string>();
      for (const queue of queues)
        await manager
          .createWorker(queue, NOTE, async ({ text }) => {
            if (/\b0$/.test(text)) throw new Error('never');
            seen.add(text);
          })
          .start();
      for (const queue of queues) await manager.enqueueJobs(queue, NOTE, notes(20, queue));
      await eventually(() => expect(seen.size).toBe(38));
      const letters = manager.getQueue(QUEUE.deadLetter);
      await eventually(async () => expect((await letters.counts()).waiting).toBe(2));
      for (const queue of queues) expect((await manager.getQueue(queue).counts()).failed).toBe(0);
      // With this prefix the three queues are on the three nodes.
      const sizes = await Promise.all(nodes.map((node) => node.command('DBSIZE')));
      expect(sizes.map((size) => Number(size.slice(1))).every((keys) => keys > 2)).toBe(true);
    } finally {
      await manager.closeConnections();
      await Promise.all(nodes.map((node) => node.stop()));
    }
  }, 90_000);

  it('may name sentinels: workers and producers follow a failover', async () => {
    await withTempFolder(async (folder) => {
      const primary = await startRedis();
      const replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${primary.port}`] });
      const ports = [await freePort(), await freePort(), await freePort()];
      const sentinels = await Promise.all(ports.map((port) => startSentinel(folder, port, primary.port)));
      const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
      const manager = createManager({ url: `redis+sentinel://${hosts}/main` });
      try {
        await eventually(async () => {
          for (const sentinel of sentinels) expect(sentinel.stdout).toMatch(/\+slave/);
          for (const sentinel of sentinels) expect(sentinel.stdout.match(/\+sentinel /g)).toHaveLength(2);
        });
        await manager.start();
        const before = await manager.runId();
        const seen = new Set<string>();
        await manager.createWorker('q', NOTE, async ({ text }) => void seen.add(text)).start();
        await manager.enqueueJobs('q', NOTE, notes(20, 'before'));
        await eventually(() => expect(seen.size).toBe(20));

        await primary.kill();
        await eventually(() => manager.enqueueJobs('q', NOTE, notes(20, 'after')), { timeoutMs: 60_000 });
        await eventually(() => expect(seen.size).toBe(40), { timeoutMs: 60_000 });
        expect(await manager.runId()).not.toBe(before);
        expect(await manager.health()).toEqual({ status: 'up' });
      } finally {
        await manager.closeConnections();
        await Promise.all(sentinels.map((sentinel) => sentinel.end('SIGKILL')));
        await Promise.all([primary.stop(), replica.stop()]);
      }
    });
  }, 150_000);
});

const SLOTS = [
  ['0', '5460'],
  ['5461', '10922'],
  ['10923', '16383'],
] as const;

/** Three primaries, each with a third of the slots. */
async function startCluster(): Promise<RedisServer[]> {
  const nodes = await Promise.all(
    SLOTS.map(async () => {
      const bus = String(await freePort());
      const address = ['--cluster-announce-ip', '127.0.0.1', '--cluster-port', bus];
      return { bus, server: await startRedis({ args: ['--cluster-enabled', 'yes', ...address] }) };
    }),
  );
  const servers = nodes.map(({ server }) => server);
  for (const [index, { bus, server }] of nodes.entries()) {
    await server.command('CLUSTER', 'ADDSLOTSRANGE', ...SLOTS[index]!);
    await servers[0]!.command('CLUSTER', 'MEET', '127.0.0.1', String(server.port), bus);
  }
  // Each says whether it, or which other, is responsible, once it knows of all slots.
  for (const server of servers)
    await eventually(async () => expect(await server.command('SET', 'probe', '1')).toMatch(/OK|MOVED/), {
      timeoutMs: 30_000,
    });
  return servers;
}

async function startSentinel(folder: string, port: number, primaryPort: number): Promise<Child> {
  const file = join(folder, `sentinel-${port}.conf`);
  await writeFile(
    file,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${folder}`,
      `sentinel monitor main 127.0.0.1 ${primaryPort} 2`,
      'sentinel down-after-milliseconds main 1000',
      'sentinel failover-timeout main 3000',
    ].join('\n'),
  );
  return spawnProgram('redis-server', [file, '--sentinel']);
}
