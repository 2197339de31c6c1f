import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TlsOptions } from '#redis';
import {
  eventually,
  freePort,
  guardLeaks,
  spawnProgram,
  startRedis,
  withTempFolder,
  type Child,
} from '#testing';
import { createManager, NOTE, notes } from '../testing/managers.js';
import type { QueueManager } from './queue-manager.js';

const run = promisify(execFile);

/** Starts a manager with a worker, sends jobs through it and closes it. */
async function roundTrip(options: { url: string; prefix?: string; tls?: TlsOptions }): Promise<QueueManager> {
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

  it('may name a cluster, for which the prefix gets a hash tag', async () => {
    const redis = await startRedis({
      args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
    });
    try {
      await redis.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
      await eventually(async () => expect(await redis.command('SET', 'probe', '1')).toBe('+OK'));
      const manager = await roundTrip({ url: `redis+cluster://127.0.0.1:${redis.port}`, prefix: 'mine' });
      expect(manager.settings.prefix).toBe('{mine}');
    } finally {
      await redis.stop();
    }
  });

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
