// The outbox publisher against bare BullMQ and against the one-at-a-time loop of the seed, in the same run; how long a
// committed event takes to become visible; and what a table full of published events costs.
import { Database, type Dialect } from '#database';
import { Metrics, silentLogger } from '#service';
// Not by '#testing': its index needs Jest.
import { createDatabase, startPostgres } from '../libs/testing/src/postgres-server.js';
import { startRedis, type RedisServer } from '../libs/testing/src/redis-server.js';
import { tempFolder } from '../libs/testing/src/temp-folder.js';
import { measureLatency } from './outbox.latency.js';
import { fillWithPublished, OutboxRounds } from './outbox.rounds.js';
import { report } from './report.js';

const EVENTS = 20_000;
const ROUNDS = 5;
const PUBLISHED_ROWS = 1_000_000;
const SEED_POLLING_MS = 1_000;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

interface Throughput {
  dialect: Dialect;
  value: number;
  peer: number;
  ratio: number;
}

/** Events a second against bare addBulk, turn and turn about, so that what else the machine does hits both. */
async function againstAddBulk(rounds: OutboxRounds): Promise<Throughput> {
  const runs: { ours: number; peer: number }[] = [];
  await rounds.publish(EVENTS / 4);
  await rounds.addBulk(EVENTS / 4);
  for (let round = 0; round < ROUNDS; round++)
    runs.push({ peer: await rounds.addBulk(EVENTS), ours: await rounds.publish(EVENTS) });
  return {
    dialect: rounds.dialect,
    value: median(runs.map(({ ours }) => ours)),
    peer: median(runs.map(({ peer }) => peer)),
    ratio: median(runs.map(({ ours, peer }) => ours / peer)),
  };
}

async function againstSeedLoop(rounds: OutboxRounds, value: number): Promise<void> {
  const peer = median([
    await rounds.oneAtATime(1_000),
    await rounds.oneAtATime(1_000),
    await rounds.oneAtATime(1_000),
  ]);
  report({
    name: `outbox.publish.${rounds.dialect}.against-seed-loop`,
    unit: 'events/s',
    value,
    peer,
    ratio: value / peer,
    aim: 8,
  });
}

async function withManyPublished(rounds: OutboxRounds): Promise<void> {
  const empty: number[] = [];
  const full: number[] = [];
  for (let round = 0; round < ROUNDS; round++) empty.push(await rounds.publish(EVENTS));
  await fillWithPublished(rounds.database, PUBLISHED_ROWS);
  await rounds.publish(EVENTS / 4);
  for (let round = 0; round < ROUNDS; round++) full.push(await rounds.publish(EVENTS));
  const [value, peer] = [median(full), median(empty)];
  report({
    name: `outbox.publish.${rounds.dialect}.beside-1000000-published`,
    unit: 'events/s',
    value,
    peer,
    ratio: value / peer,
    aim: 1 / 1.2,
  });
}

async function latencies(
  databaseUrl: string,
  redis: RedisServer,
  dialect: Dialect,
  half: number,
): Promise<void> {
  for (const [load, eventsPerSecond] of [
    ['idle', 20],
    ['half-load', half],
  ] as const) {
    const { p50, p99 } = await measureLatency({ databaseUrl, redisUrl: redis.url, eventsPerSecond });
    const peers = { p50: SEED_POLLING_MS / 2, p99: SEED_POLLING_MS };
    for (const [quantile, value] of Object.entries({ p50, p99 })) {
      const peer = peers[quantile as keyof typeof peers];
      report({
        name: `outbox.latency.${dialect}.${load}.${quantile}`,
        unit: 'ms',
        value,
        peer,
        ratio: peer / value,
        aim: 1,
      });
    }
  }
}

async function measure(
  url: string,
  redis: RedisServer,
): Promise<{ throughput: Throughput; finish: () => Promise<void> }> {
  const database = new Database({ url, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  const rounds = await OutboxRounds.start(database, redis);
  const throughput = await againstAddBulk(rounds);
  await againstSeedLoop(rounds, throughput.value);
  const finish = async (): Promise<void> => {
    await latencies(url, redis, rounds.dialect, Math.floor(throughput.value / 2));
    await withManyPublished(rounds);
    await rounds.stop();
    await database.stop();
  };
  return { throughput, finish };
}

const redis = await startRedis();
const folder = await tempFolder('bench');
const cluster = await startPostgres();
const place = await createDatabase(cluster.url());
const measured = [await measure(`sqlite:${folder.path}/bench.db`, redis), await measure(place.url, redis)];
const fastest = Math.max(...measured.map(({ throughput }) => throughput.value));
for (const { throughput } of measured) {
  const { dialect, ...figures } = throughput;
  // The aim is for the faster of the two; the other is told.
  const aim = figures.value === fastest ? 0.7 : 0;
  report({ name: `outbox.publish.${dialect}.against-addBulk`, unit: 'events/s', ...figures, aim });
}
for (const { finish } of measured) await finish();

await place.drop();
await Promise.all([cluster.stop(), folder.remove(), redis.stop()]);
