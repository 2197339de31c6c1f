// Leases against the bare pair of commands under them, on the same Redis in the same run, turn and turn about.
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { Database } from '#database';
import { DatabaseFences, LockService, MemoryFences, type FenceIssuer } from '#locking';
import { Metrics, silentLogger } from '#service';
// Not by '#testing': its index needs Jest.
import { createDatabase, startPostgres } from '../libs/testing/src/postgres-server.js';
import { startRedis } from '../libs/testing/src/redis-server.js';
import { tempFolder } from '../libs/testing/src/temp-folder.js';
import { report } from './report.js';

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
const ROUNDS = 9;
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

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** The median of rounds in which both run one after the other, so that what else the machine does hits both. */
async function compare(ours: Cycle, peer: Cycle, width: number, cycles: number) {
  const rounds: { ours: number; peer: number }[] = [];
  await Promise.all([rate(ours, width, cycles / 2), rate(peer, width, cycles / 2)]);
  for (let round = 0; round < ROUNDS; round++) {
    const first = round % 2 === 0;
    const a = await rate(first ? ours : peer, width, cycles);
    const b = await rate(first ? peer : ours, width, cycles);
    rounds.push(first ? { ours: a, peer: b } : { ours: b, peer: a });
  }
  return {
    value: median(rounds.map((round) => round.ours)),
    peer: median(rounds.map((round) => round.peer)),
    ratio: median(rounds.map((round) => round.ours / round.peer)),
  };
}

async function startLocks(url: string, fences: FenceIssuer): Promise<LockService> {
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
  const measured = await compare(leaseCycle(locks), issue, 8, 800);
  report({ name, unit: 'locks/s', ...measured, aim: FENCED_AIM });
  await locks.stop();
  await database.stop();
}

const server = await startRedis();
const raw = new Redis(server.url, { commandTimeout: 5_000, socketTimeout: 15_000 });
const locks = await startLocks(server.url, new MemoryFences());

for (const [name, width, cycles] of [
  ['locks.acquire-release', 1, 3_000],
  ['locks.acquire-release.32-callers', 32, 20_000],
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
