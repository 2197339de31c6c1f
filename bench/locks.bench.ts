// Leases against the bare pair of commands under them, on the same Redis in the same run, turn and turn about.
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { Database } from '#database';
import { DatabaseFences, LockService } from '#locking';
import { Metrics, silentLogger } from '#service';
// Not by '#testing': its index needs Jest.
import { createDatabase, startPostgres } from '../libs/testing/src/postgres-server.js';
import { startRedis } from '../libs/testing/src/redis-server.js';
import { tempFolder } from '../libs/testing/src/temp-folder.js';
import { MemoryFences } from '../libs/locking/testing/lock-service.js';
import { report } from './report.js';

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
// Many short slices: on a busy machine the better ones are those in which nobody else ran.
const SLICES = 60;
const AIM = 0.9;
const FENCED_AIM = 0.5;

type Cycle = (key: string) => Promise<void>;

function rawCycle(redis: Redis): Cycle {
  return async (key) => {
    const owner = randomUUID();
    await redis.set(key, owner, 'PX', 30_000, 'NX');
    await redis.eval(RELEASE, 1, key, owner);
  };
}

function leaseCycle(locks: LockService): Cycle {
  return async (key) => {
    const lease = await locks.acquire(key);
    if (!lease) throw new Error(`${key} is held`);
    await lease.release();
  };
}

/** Cycles a second with `width` callers, each on a key of its own. */
async function rate(cycle: Cycle, width: number, cycles: number): Promise<number> {
  const each = Math.ceil(cycles / width);
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: width }, async (_, caller) => {
      for (let done = 0; done < each; done++) await cycle(`bench-${caller}`);
    }),
  );
  return (each * width * 1_000) / (performance.now() - begun);
}

/** The rate that one slice in ten reaches: what the code can do, with little of what else the machine did. */
const best = (rates: readonly number[]): number =>
  [...rates].sort((a, b) => b - a)[Math.floor(rates.length / 10)] ?? 0;

async function compare(ours: Cycle, peer: Cycle, width: number, cycles: number) {
  const rates = { ours: [] as number[], peer: [] as number[] };
  await rate(ours, width, cycles * 3);
  await rate(peer, width, cycles * 3);
  for (let slice = 0; slice < SLICES; slice++) {
    rates.ours.push(await rate(ours, width, cycles));
    rates.peer.push(await rate(peer, width, cycles));
  }
  const [value, against] = [best(rates.ours), best(rates.peer)];
  return { value, peer: against, ratio: value / against };
}

async function startLocks(url: string, fences: Pick<DatabaseFences, 'issue'>): Promise<LockService> {
  const locks = new LockService({
    urls: [url],
    keyPrefix: 'bench:',
    leaseMs: 30_000,
    renewalIntervalMs: 10_000,
    workerId: 'bench',
    fences,
    logger: silentLogger,
    metrics: new Metrics(),
  });
  await locks.start();
  return locks;
}

/** Leases with fences from a database, against the issuing of fences alone: the write is what they cost. */
async function reportFenced(name: string, redisUrl: string, databaseUrl: string): Promise<void> {
  const database = new Database({ url: databaseUrl, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  const fences = new DatabaseFences(database);
  const locks = await startLocks(redisUrl, fences);
  const issue: Cycle = async (key) => void (await fences.issue(key));
  const measured = await compare(leaseCycle(locks), issue, 8, 80);
  report({ name, unit: 'locks/s', ...measured, aim: FENCED_AIM });
  await locks.stop();
  await database.stop();
}

const server = await startRedis();
const raw = new Redis(server.url, { commandTimeout: 5_000, socketTimeout: 15_000 });
const locks = await startLocks(server.url, new MemoryFences());

for (const [name, width, cycles] of [
  ['locks.acquire-release', 1, 300],
  ['locks.acquire-release.32-callers', 32, 640],
] as const) {
  const measured = await compare(leaseCycle(locks), rawCycle(raw), width, cycles);
  report({ name, unit: 'locks/s', ...measured, aim: AIM });
}

const folder = await tempFolder('bench');
await reportFenced('locks.acquire-release.sqlite-fence', server.url, `sqlite:${folder.path}/bench.db`);
const cluster = await startPostgres();
const place = await createDatabase(cluster.url());
await reportFenced('locks.acquire-release.postgres-fence', server.url, place.url);

await locks.stop();
raw.disconnect();
await place.drop();
await Promise.all([cluster.stop(), folder.remove(), server.stop()]);
