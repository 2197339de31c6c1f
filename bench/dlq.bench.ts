// Reads and redrives at size: `npm run bench -- dlq [postgres letters] [sqlite letters]`.
import { Database, queryRows } from '#database';
import { Metrics, silentLogger, systemClock } from '#service';
import { startPostgres, tempFolder } from '#testing';
import { takeIn } from '../apps/dlq-admin/src/ingest/intake.repository.js';
import { draftOf } from '../apps/dlq-admin/src/ingest/letter-draft.js';
import { GroupsRepository } from '../apps/dlq-admin/src/groups/groups.repository.js';
import { SamplesRepository } from '../apps/dlq-admin/src/alerts/samples.repository.js';
import { LettersRepository } from '../apps/dlq-admin/src/letters/letters.repository.js';
import { DlqAdminConfig } from '../apps/dlq-admin/src/dlq-admin.config.js';
import { LetterChanges } from '../apps/dlq-admin/src/letters/letter-changes.repository.js';
import { deadLetter } from '../test/e2e/dlq-app.js';
import { GROUPS, seedLetters, WORKERS } from './dlq.seed.js';
import { report } from './report.js';

const QUEUES = { files: 'files-to-batch-queue', batches: 'file-analysis-queue' };
const ROUNDS = 40;
const AIM_MS = 100;
const SQS_REDRIVES = 500;
const AIM_REDRIVES = 5_000;
const REDRIVEN = 20_000;
const CHUNK = 500;

async function p95(name: string, query: (round: number) => Promise<unknown>): Promise<void> {
  for (let warm = 0; warm < 3; warm++) await query(warm);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = systemClock.monotonic();
    await query(round + 100);
    times.push(systemClock.monotonic() - startedAt);
  }
  times.sort((a, b) => a - b);
  const value = times[Math.floor(times.length * 0.95)] ?? 0;
  report({ name, value, unit: 'ms', peer: AIM_MS, ratio: AIM_MS / value, aim: 1 });
}

async function measure(database: Database, size: number): Promise<void> {
  const tag = `dlq.${database.dialect}.${size}`;
  const letters = new LettersRepository(database);
  const groups = new GroupsRepository(database, systemClock);
  const samples = new SamplesRepository(database);
  const list = (filter: object): Promise<unknown> => letters.list({ filter, scope: null }, null, 50);
  const spread = (round: number): number => (round * 7_919) % size;
  await p95(`${tag}.list`, () => list({ status: 'open' }));
  await p95(`${tag}.list.deep`, async (round) =>
    letters.list(
      { filter: { status: 'open' }, scope: null },
      { at: Date.now() - size + spread(round), id: 1e12 },
      50,
    ),
  );
  await p95(`${tag}.list.queue`, (round) => list({ status: 'open', queue: `queue-${round % 12}` }));
  await p95(`${tag}.list.worker`, (round) =>
    list({ status: 'discarded', worker: `worker-${round % WORKERS}` }),
  );
  await p95(`${tag}.list.group`, (round) =>
    list({ group: `fingerprint${String(round % GROUPS).padStart(6, '0')}`, status: 'open' }),
  );
  await p95(`${tag}.search.rare`, (round) => list({ text: `order-${spread(round)}"` }));
  await p95(`${tag}.search.common`, () => list({ text: 'cannot read' }));
  await p95(`${tag}.search.none`, (round) => list({ text: `nowhere-${round}-to-be-found` }));
  await p95(`${tag}.search.field`, (round) => list({ payload: { 'order.id': `order-${spread(round)}` } }));
  await p95(`${tag}.groups`, () => groups.list(null, { after: null, limit: 50, openOnly: true }));
  await p95(`${tag}.stats`, () => samples.queues(null));
  await redrive(database, tag);
  await intake(database, tag);
}

async function redrive(database: Database, tag: string): Promise<void> {
  const ids = (
    await database.read((manager) =>
      queryRows<{ id: number }>(
        manager,
        `SELECT id FROM dead_letters WHERE status = 'open' ORDER BY dead_lettered_at LIMIT ${REDRIVEN}`,
      ),
    )
  ).map(({ id }) => id);
  const queues = { PATH_DISCOVERY_QUEUE: QUEUES.files, ANALYSIS_QUEUE: QUEUES.batches };
  const config = Object.assign(new DlqAdminConfig(), { MAX_REPLAYS: 5, REDACT_PATHS: [], ...queues });
  const changes = new LetterChanges(config);
  globalThis.gc?.();
  const memoryBefore = process.memoryUsage().rss;
  const startedAt = systemClock.monotonic();
  for (let from = 0; from < ids.length; from += CHUNK)
    await database.inTransaction(async (tx) => {
      const letters = await changes.lock(tx, ids.slice(from, from + CHUNK), null);
      await changes.apply(tx, 'requeue', letters, { actor: 'bench', now: Date.now() });
    });
  const rate = ids.length / ((systemClock.monotonic() - startedAt) / 1_000);
  report({
    name: `${tag}.redrive`,
    value: rate,
    unit: 'letters/s',
    peer: SQS_REDRIVES,
    ratio: rate / SQS_REDRIVES,
    aim: AIM_REDRIVES / SQS_REDRIVES,
  });
  const grown = Math.max(1, (process.memoryUsage().rss - memoryBefore) / 2 ** 20);
  report({ name: `${tag}.redrive.memory`, value: grown, unit: 'MiB', peer: 200, ratio: 200 / grown, aim: 1 });
}

async function intake(database: Database, tag: string): Promise<void> {
  const drafts = Array.from({ length: 5_000 }, (_, index) =>
    draftOf(deadLetter({ queue: `queue-${index % 12}` }), []),
  );
  const startedAt = systemClock.monotonic();
  for (let from = 0; from < drafts.length; from += 200)
    await database.inTransaction((tx) => takeIn(tx, drafts.slice(from, from + 200), QUEUES));
  const rate = drafts.length / ((systemClock.monotonic() - startedAt) / 1_000);
  report({
    name: `${tag}.intake`,
    value: rate,
    unit: 'letters/s',
    peer: SQS_REDRIVES,
    ratio: rate / SQS_REDRIVES,
    aim: 2,
  });
}

async function onDatabase(url: string, size: number): Promise<void> {
  const database = new Database({
    url,
    logger: silentLogger,
    metrics: new Metrics(),
    statementTimeoutMs: 600_000,
    transactionTimeoutMs: 600_000,
  });
  await database.start();
  try {
    await seedLetters(database, size);
    await measure(database, size);
  } finally {
    await database.stop();
  }
}

const [postgresSize = 1_000_000, sqliteSize = 100_000] = process.argv.slice(2).map(Number);
if (sqliteSize > 0) {
  const folder = await tempFolder('bench');
  await onDatabase(`sqlite:${folder.path}/bench.db`, sqliteSize);
  await folder.remove();
}
if (postgresSize > 0) {
  const server = await startPostgres();
  await onDatabase(server.url(), postgresSize);
  await server.stop();
}
