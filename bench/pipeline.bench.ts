import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Database, queryOne } from '#database';
import { Metrics, silentLogger } from '#service';
import { PROJECT_ROOT } from '../libs/testing/src/child.js';
import type { Tokenizer } from './pipeline.tokenise.js';
import { report } from './report.js';
import { runMillrace } from './run.measure.js';

// `npm run bench -- pipeline [directory]`: one whole `millrace run` against nothing but tokenizing on all cores.
const directory = process.argv[2] ?? join(PROJECT_ROOT, 'node_modules');

function filesBelow(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Reading and counting alone, on as many threads as there are cores, one file in so many, dealt out by size. */
async function tokenizeAll(tokenizer: Tokenizer, oneIn: number): Promise<{ ms: number; bytes: number }> {
  const paths = filesBelow(directory)
    .filter((_, index) => index % oneIn === 0)
    .sort((a, b) => statSync(b).size - statSync(a).size);
  const threads = availableParallelism();
  const started = performance.now();
  const counted = await Promise.all(
    Array.from({ length: threads }, async (_, index) => {
      const share = paths.filter((_path, position) => position % threads === index);
      const worker = new Worker(new URL('./pipeline.tokenise.js', import.meta.url), {
        workerData: { paths: share, tokenizer },
      });
      const [result] = (await once(worker, 'message')) as [{ bytes: number }];
      return result.bytes;
    }),
  );
  return { ms: performance.now() - started, bytes: counted.reduce((sum, bytes) => sum + bytes, 0) };
}

/** When the last file had come through each stage, in seconds since the command was given; the stages overlap. */
async function stages(folder: string, startedAt: number): Promise<Record<string, number>> {
  const database = new Database({
    url: `sqlite:${join(folder, 'data', 'millrace.db')}`,
    logger: silentLogger,
    metrics: new Metrics(),
  });
  await database.start();
  try {
    const row = await database.read((manager) =>
      queryOne<Record<string, number>>(
        manager,
        `SELECT (SELECT max(enqueued_at) FROM files) AS enqueued, (SELECT max(created_at) FROM batches) AS batched,
          (SELECT max(published_at) FROM outbox) AS published, (SELECT max(completed_at) FROM batches) AS delivered`,
      ),
    );
    return Object.fromEntries(Object.entries(row).map(([stage, at]) => [stage, (at - startedAt) / 1000]));
  } finally {
    await database.stop();
  }
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
try {
  const limit = await tokenizeAll('millrace', 1);
  const peer = await tokenizeAll('gpt-tokenizer', 8);
  const { result, usage, startedAt, wallMs } = await runMillrace(directory, folder);
  const seconds = result.elapsedMs / 1000;
  const files = Object.values(result.counts.files).reduce((sum, count) => sum + count, 0);
  const rate = limit.bytes / 1e6 / seconds;
  const peerRate = peer.bytes / 1e3 / peer.ms;
  report({
    name: 'pipeline.run',
    value: rate,
    unit: 'MB/s',
    peer: limit.bytes / 1e3 / limit.ms,
    ratio: limit.ms / result.elapsedMs,
    aim: 0.6,
  });
  report({
    name: 'pipeline.run.vs-gpt-tokenizer',
    value: rate,
    unit: 'MB/s',
    peer: peerRate,
    ratio: rate / peerRate,
  });
  report({ name: 'pipeline.files', value: files / seconds, unit: 'files/s' });
  report({ name: 'pipeline.tokens', value: result.counts.tokens / seconds, unit: 'tokens/s' });
  report({ name: 'pipeline.wall', value: wallMs / 1000, unit: 's' });
  for (const [stage, value] of Object.entries(await stages(folder, startedAt)))
    report({ name: `pipeline.stage.${stage}`, value, unit: 's' });
  for (const [app, { megabytes, cpuSeconds }] of usage) {
    report({ name: `pipeline.rss.${app}`, value: megabytes, unit: 'MB' });
    report({ name: `pipeline.cpu.${app}`, value: cpuSeconds, unit: 's' });
  }
  const again = await runMillrace(directory, folder);
  report({
    name: 'pipeline.rerun',
    value: again.wallMs / 1000,
    unit: 's',
    peer: wallMs / 1000,
    ratio: wallMs / again.wallMs,
  });
} finally {
  await rm(folder, { recursive: true, force: true });
}
