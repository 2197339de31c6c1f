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

/** `npm run bench -- outbox 0.1` takes a tenth of the events, for a quick look. */
const SCALE = Number(process.argv[2] ?? 1);
const EVENTS = Math.ceil(20_000 * SCALE);
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
  await rounds.publish(Math.ceil(EVENTS / 4));
  await rounds.addBulk(Math.ceil(EVENTS / 4));
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
    await rounds.oneAtATime(EVENTS / 20),
    await rounds.oneAtATime(EVENTS / 20),
    await rounds.oneAtATime(EVENTS / 20),
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

/** The same events through a table that also holds many published ones, turn and turn about with one that does not. */
async function withManyPublished(empty: OutboxRounds, full: OutboxRounds): Promise<void> {
  await fillWithPublished(full.database, PUBLISHED_ROWS);
  await full.publish(Math.ceil(EVENTS / 4));
  const runs: { ours: number; peer: number }[] = [];
  for (let round = 0; round < ROUNDS; round++)
    runs.push({ peer: await empty.publish(EVENTS), ours: await full.publish(EVENTS) });
  report({
    name: `outbox.publish.${full.dialect}.beside-1000000-published`,
    unit: 'events/s',
    value: median(runs.map(({ ours }) => ours)),
    peer: median(runs.map(({ peer }) => peer)),
    ratio: median(runs.map(({ ours, peer }) => ours / peer)),
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

interface Measured {
  throughput: Throughput;
  finish: () => Promise<void>;
}

async function start(url: string, redis: RedisServer): Promise<OutboxRounds> {
  const database = new Database({ url, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  return OutboxRounds.start(database, redis);
}

async function measure(url: string, secondUrl: string, redis: RedisServer): Promise<Measured> {
  const rounds = await start(url, redis);
  const throughput = await againstAddBulk(rounds);
  await againstSeedLoop(rounds, throughput.value);
  const finish = async (): Promise<void> => {
    await latencies(url, redis, rounds.dialect, Math.floor(throughput.value / 2));
    const second = await start(secondUrl, redis);
    await withManyPublished(rounds, second);
    await Promise.all([rounds.stop(), second.stop()]);
  };
  return { throughput, finish };
}

const redis = await startRedis();
const folder = await tempFolder('bench');
const cluster = await startPostgres();
const places = [await createDatabase(cluster.url()), await createDatabase(cluster.url())] as const;
const measured = [
  await measure(`sqlite:${folder.path}/bench.db`, `sqlite:${folder.path}/second.db`, redis),
  await measure(places[0].url, places[1].url, redis),
];
// A claim and a mark are two round trips to PostgreSQL, and two waits for its log.
const AIMS = { sqlite: 0.7, postgres: 0.65 };
for (const { throughput } of measured) {
  const { dialect, ...figures } = throughput;
  const aim = AIMS[dialect];
  report({ name: `outbox.publish.${dialect}.against-addBulk`, unit: 'events/s', ...figures, aim });
}
for (const { finish } of measured) await finish();

await Promise.all(places.map(({ drop }) => drop()));
await Promise.all([cluster.stop(), folder.remove(), redis.stop()]);
