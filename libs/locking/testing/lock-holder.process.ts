import { setTimeout as pause } from 'node:timers/promises';
import { Database, execute, type EntityManager } from '#database';
import { backoffMs, createLogger, Metrics, silentLogger } from '#service';
import { DatabaseFences } from '../src/database-fences.js';
import type { Lease } from '../src/lease.js';
import { LockService } from '../src/lock.service.js';
import { LeaseLostError, LockUnavailableError } from '../src/locking.errors.js';

/**
 * How a holder writes. `guarded`: as the system does. `fenced`: by the fence alone, without a look at the own clock first.
 * `unfenced`: check-on-write only, to show what the fence is for.
 */
export type WriteMode = 'guarded' | 'fenced' | 'unfenced';

export interface HolderOrders {
  redisUrl: string;
  databaseUrl: string;
  key: string;
  workerId: string;
  leaseMs: number;
  mode: WriteMode;
  /** How likely the process stops itself (SIGSTOP) between the check of its lease and the write. */
  stopBeforeWrite: number;
  /** How many writes before it releases; it begins again afterwards, unless `once`. */
  writes: number;
  once?: boolean;
}

// Test process: contends for one lock for ever and writes under it. Prints a line for each thing that happened.
// SIGUSR2 switches the fence off.
const orders = JSON.parse(process.argv[2] ?? '{}') as HolderOrders;
process.on('SIGUSR2', () => (orders.mode = 'unfenced'));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const logger = createLogger({ service: 'holder', workerId: orders.workerId, level: 'silent' });
const metrics = new Metrics();
const database = new Database({ url: orders.databaseUrl, logger: silentLogger, metrics, poolSize: 2 });
const fences = new DatabaseFences(database);
const locks = new LockService({
  urls: [orders.redisUrl],
  keyPrefix: 'torture:',
  leaseMs: orders.leaseMs,
  renewalIntervalMs: orders.leaseMs / 4,
  workerId: orders.workerId,
  fences,
  logger,
  metrics,
});

/** The row tells by itself whether a later lease existed when it was written: `newest` is greater than `fence` then. */
const append =
  ({ key, fence, ownerId }: Lease) =>
  (tx: EntityManager): Promise<number> =>
    execute(
      tx,
      `INSERT INTO lock_writes (fence, owner, newest)
       VALUES ($1, $2, (SELECT fence FROM fences WHERE key = $3))`,
      [fence, ownerId, key],
    );

async function write(lease: Lease): Promise<void> {
  switch (orders.mode) {
    case 'guarded':
      await fences.writeIfFence(lease, append(lease));
      return;
    case 'fenced':
      await database.inTransaction(async (tx) => {
        await fences.assert(tx, lease);
        await append(lease)(tx);
      });
      return;
    case 'unfenced':
      await database.inTransaction(append(lease));
  }
}

async function work(lease: Lease): Promise<void> {
  say(`acquired ${lease.fence}`);
  for (let done = 0; done < orders.writes; done++) {
    await lease.verify();
    if (Math.random() < orders.stopBeforeWrite) {
      say(`verified ${lease.fence}`);
      process.kill(process.pid, 'SIGSTOP');
    }
    await write(lease);
    say(`wrote ${lease.fence}`);
    await pause(5);
  }
}

let misses = 0;

/** False when there was no lease to be had. */
async function round(): Promise<boolean> {
  const lease = await locks.acquire(orders.key).catch((error: unknown) => {
    if (error instanceof LockUnavailableError) return null;
    throw error;
  });
  if (!lease) {
    // Those that wait must leave the processor to those that are still starting.
    await pause(backoffMs(misses++, { baseMs: 50, maxMs: 1_000 }));
    return false;
  }
  misses = 0;
  try {
    await work(lease);
    return true;
  } finally {
    await lease.release();
  }
}

function expected(error: unknown): string {
  if (error instanceof LeaseLostError) return `${error.code} ${error.reason}`;
  if (error instanceof LockUnavailableError) return error.code;
  if (error instanceof Error && 'code' in error && error.code === 'STALE_FENCE') return error.code;
  throw error;
}

await database.start();
await locks.start();
say('ready');
let worked: boolean;
do
  worked = await round().catch((error: unknown) => {
    say(`refused ${expected(error)}`);
    return true;
  });
while (!orders.once || !worked);
await locks.stop();
await database.stop();
say('ended');
