import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { get_encoding } from 'tiktoken';
import type { FileView } from '#dlq-client';
import { eventually, startSpanCollector, type Child, type CollectedSpan, type SpanCollector } from '#testing';
import { CliHost, type CliResult } from './cli-host.js';
import { RecordingAnalyser } from './recording-analyser.js';
import { useRunRig, type RunResult, type RunRig } from './run-rig.js';
import { filesBelow, makeTree } from './tree.js';

const NOT_SENT = ['binary.bin', 'empty.txt', '.gitignore'];

const batchesOf = async (rig: RunRig): Promise<string[]> =>
  (await readdir(rig.out)).filter((name) => name.startsWith('batch-'));

/** A tree with what envelopes have trouble with. */
async function makeTrickyTree(root: string): Promise<void> {
  await makeTree(root, 60);
  await writeFile(join(root, 'fences.md'), '````\n'.repeat(50));
  await writeFile(join(root, 'cdata.txt'), ']]>\n'.repeat(50));
  await writeFile(join(root, 'special.txt'), '<|endoftext|> '.repeat(50));
}

/** Every batch, as the one text that it is, fits the budget. */
async function expectFitting(rig: RunRig, maxTokens: number): Promise<void> {
  const encoding = get_encoding('o200k_base');
  const counts = await Promise.all(
    (await batchesOf(rig)).map(
      async (name) => encoding.encode(await readFile(join(rig.out, name), 'utf8'), [], []).length,
    ),
  );
  encoding.free();
  expect(counts.length).toBeGreaterThan(5);
  expect(Math.max(...counts)).toBeLessThanOrEqual(maxTokens);
}

describe('millrace run', () => {
  const rig = useRunRig();
  const startsOf = async (app: string): Promise<number> =>
    (await readFile(join(rig.data, 'logs', `${app}.log`), 'utf8')).split(`"${app} started"`).length - 1;

  it('writes batches that hold every text file and fit the budget, proves it, and has nothing to do the second time', async () => {
    await makeTree(rig.tree, 120);
    const first = await rig.succeed(rig.run('--format', 'jsonl', '--max-tokens', '4000'));
    expect(first.proof.verdict).toBe('proven');

    const parts = new Map<string, Buffer[]>();
    for (const name of await batchesOf(rig))
      for (const line of (await readFile(join(rig.out, name), 'utf8')).trimEnd().split('\n')) {
        const { path, part, content, encoding } = JSON.parse(line) as {
          path: string;
          part: number;
          content: string;
          encoding: BufferEncoding;
        };
        const list = parts.get(path) ?? [];
        expect(list[part - 1]).toBeUndefined();
        list[part - 1] = Buffer.from(content, encoding);
        parts.set(path, list);
      }
    const sent = new Map([...parts].map(([path, list]) => [path, Buffer.concat(list)]));
    const expected = await filesBelow(rig.tree);
    for (const path of [...NOT_SENT.filter((name) => name !== '.gitignore'), 'ignored/never.txt'])
      expected.delete(path);
    for (const [path, bytes] of expected) if (!path.startsWith('.')) expect(sent.get(path)).toEqual(bytes);
    for (const path of sent.keys()) expect(expected.has(path)).toBe(true);

    const second = await rig.succeed(rig.run('--format', 'jsonl', '--max-tokens', '4000'));
    expect(second.delivered).toEqual({ files: 0, batches: 0 });
    expect(second.proof.digest).toBe(first.proof.digest);
    // Without work, only the scan's part of the worker was started.
    expect(await startsOf('worker')).toBe(1);
    // Nor was what nobody asked for; and nothing but the database is kept.
    expect(await readdir(join(rig.data, 'logs'))).not.toContain('dlq-admin.log');
    expect(await readdir(rig.data)).not.toContain('redis');

    await appendFile(join(rig.tree, 'd1/e1/f1.txt'), 'one more line\n');
    await writeFile(join(rig.tree, 'd1/new.txt'), 'brand new\n');
    const third = await rig.succeed(rig.run('--format', 'jsonl', '--max-tokens', '4000'));
    expect(third.proof.verdict).toBe('proven');
    expect(await startsOf('worker')).toBe(2);
    const names = new Set<string>();
    const manifest = JSON.parse(await readFile(join(rig.out, 'manifest.json'), 'utf8')) as {
      batches: { files: { path: string; revision: number }[] }[];
    };
    for (const { files } of manifest.batches)
      for (const { path, revision } of files) names.add(`${path}@${revision}`);
    expect(names.has('d1/e1/f1.txt@2')).toBe(true);
    expect(names.has('d1/new.txt@1')).toBe(true);
    expect([...names].filter((name) => name.endsWith('@2'))).toEqual(['d1/e1/f1.txt@2']);
  }, 180_000);

  it('goes on after Ctrl-C and after SIGKILL, and each batch has one effect', async () => {
    await makeTree(rig.tree, 150);
    const analyser = await RecordingAnalyser.start();
    try {
      const again = (): Child => rig.run('--url', analyser.url, '--max-tokens', '2000');
      const interrupted = again();
      await eventually(() => expect(analyser.requests.length).toBeGreaterThan(0), { timeoutMs: 60_000 });
      expect((await interrupted.end('SIGINT')).code).toBe(130);
      expect(interrupted.stderr).toContain('Nothing is lost');
      const killed = again();
      await killed.output(/discovered|scanning/);
      await killed.end('SIGKILL');
      await eventually(async () => expect(await rig.processes()).toEqual([]), {
        timeoutMs: 60_000,
      });
      const { proof } = await rig.succeed(again());
      expect(proof.verdict).toBe('proven');
      const files = [...analyser.effects.values()].flatMap(({ files }) =>
        files.map(({ path, part }) => `${path}#${part}`),
      );
      expect(new Set(files).size).toBe(files.length);
      expect(new Set(files.map((name) => name.split('#')[0])).size).toBe(proof.counts.files.analyzed);
    } finally {
      await analyser.stop();
    }
  }, 240_000);

  it('starts a scan that died again, and scans once more after one that went on; markdown batches fit the budget, counted by tiktoken', async () => {
    await makeTrickyTree(rig.tree);
    const options = ['--format', 'markdown', '--max-tokens', '3000'];
    const killed = rig.millrace(['run', rig.tree, '--out', rig.out, ...options], {
      MILLRACE_FAULT: 'producer.after-register:1:kill',
    });
    await killed.output('The scan is started again: worker was killed by SIGKILL', 60_000);
    await killed.end('SIGKILL');
    const between = rig.millrace(['verify']);
    await between.exited;
    expect(between.stdout).toMatch(/Unfinished scans 1[^]*IN FLIGHT/);
    await eventually(async () => expect(await rig.processes()).toEqual([]), { timeoutMs: 60_000 });
    const { proof } = await rig.succeed(rig.run(...options));
    expect(proof.verdict).toBe('proven');
    const log = await readFile(join(rig.data, 'logs/worker.log'), 'utf8');
    const summaries = log.split('\n').filter((line) => line.includes('"summary"'));
    expect(summaries.map((line) => /"resumed":(true|false)/.exec(line)?.[1])).toEqual(['true', 'false']);
    await expectFitting(rig, 3_000);
  }, 240_000);

  it('tells what would be batched and writes nothing', async () => {
    await makeTree(rig.tree, 20);
    const child = rig.run('--dry-run');
    expect((await child.exited).code).toBe(0);
    const { folders, skipped } = JSON.parse(child.stdout) as {
      folders: { folder: string; tokens: number }[];
      skipped: unknown[];
    };
    expect(folders.map(({ folder: name }) => name)).toContain('d1/e1');
    expect(skipped).toContainEqual({ reason: 'binary', files: 1 });
    await expect(readdir(rig.out)).rejects.toThrow('ENOENT');
    await expect(readdir(rig.data)).rejects.toThrow('ENOENT');
  }, 60_000);
});

describe('after a run whose output folder is inside the tree', () => {
  const rig = useRunRig('group');
  const xml = ['--format', 'xml', '--max-tokens', '3000'];
  let host: CliHost;
  let nothing: CliResult;
  let first: RunResult;
  let collector: SpanCollector;
  const millrace = (...args: string[]): Promise<CliResult> => host.run(['--data', rig.data, ...args]);

  beforeAll(async () => {
    host = new CliHost();
    nothing = await millrace('status');
    await makeTrickyTree(rig.tree);
    rig.out = join(rig.tree, 'batches');
    collector = await startSpanCollector();
    const told = { MILLRACE_OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    first = await rig.succeed(rig.millrace(['-o', 'json', 'run', rig.tree, '--out', rig.out, ...xml], told));
  }, 180_000);
  afterAll(async () => {
    await host.stop();
    await collector.stop();
  });

  it('the collector knows a span of the scan, and of every batch a trace that ends in its delivery', () => {
    const named = (name: string): CollectedSpan[] => collector.spans.filter((span) => span.name === name);
    const [scan] = named('scan');
    expect(named('scan')).toHaveLength(1);
    expect(scan).toMatchObject({ service: 'millrace-worker', attributes: { 'millrace.exit_code': 0 } });
    expect(named('deliver')).toHaveLength(first.delivered.batches);
    for (const { attributes, traceId, parentSpanId } of named('deliver')) {
      const batch = named('batch').find(({ spanId }) => spanId === parentSpanId);
      expect(batch).toMatchObject({
        ...{ traceId, links: [{ traceId: scan?.traceId, spanId: scan?.spanId }] },
        attributes: { 'millrace.batch_id': attributes['millrace.batch_id'] },
      });
      expect(batch?.startMs).toBeLessThanOrEqual(batch?.endMs ?? 0);
    }
  });

  it('the xml batches fit the budget as one text, counted by tiktoken', () => expectFitting(rig, 3_000));

  it('status is shown while nothing runs, and was refused where there was nothing', async () => {
    expect(nothing.code).toBe(66);
    const status = await millrace('-o', 'json', 'status');
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toMatchObject({
      events: { pending: 0, oldestPendingMs: 0 },
      queues: null,
      remainingMs: 0,
    });
    // Elsewhere than on a terminal: a line at once, and another when something has changed.
    const watch = rig.millrace(['status', '--watch']);
    await watch.output(/analyzed \d+/);
    expect(await watch.end('SIGINT')).toEqual({ code: 0, signal: null });
  }, 60_000);

  it('explain tells the story of a file by its path, and of its batch by the beginning of its id', async () => {
    const file = await millrace('-o', 'json', 'explain', join(rig.tree, 'fences.md'));
    const { status, items } = JSON.parse(file.stdout) as FileView;
    expect(status).toBe('analyzed');
    const batch = await millrace('explain', items[0]?.batchId.slice(0, 30) ?? '');
    expect(batch.stdout).toMatch(/^Batch [0-9a-f-]{36}\nIt was delivered\.\n[^]*fences\.md[^]* delivered\n$/);
    expect(await millrace('explain', 'no-such-file')).toMatchObject({
      code: 66,
      stderr: expect.stringContaining('nothing is known of no-such-file'),
    });
  }, 60_000);

  it('a second run leaves the output folder out of the scan', async () => {
    const second = rig.run(...xml);
    const { delivered, proof } = await rig.succeed(second);
    expect(delivered).toEqual({ files: 0, batches: 0 });
    expect(proof.files).toBe(first.proof.files);
    expect(second.stderr).toContain('is inside the directory; it is left out of the scan');
  }, 120_000);

  it('verify finds what is broken and exits with 4', async () => {
    const { default: sqlite } = await import('sqlite3');
    const exec = (sql: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const database = new sqlite.Database(join(rig.data, 'millrace.db'));
        database.exec(sql, (error) => database.close(() => (error ? reject(error) : resolve())));
      });
    const verdict = async (): Promise<[number, string]> => {
      const { code, stdout } = await millrace('verify');
      return [code, stdout];
    };
    expect((await verdict())[0]).toBe(0);
    await exec("UPDATE files SET status = 'skipped' WHERE name = 'f1.txt'");
    expect(await verdict()).toEqual([
      4,
      expect.stringMatching(/✗ every skipped file has a reason[^]*f1\.txt[^]*VIOLATED/),
    ]);
    await exec(
      "UPDATE files SET status = 'analyzed' WHERE name = 'f1.txt'; DELETE FROM batch_items WHERE file_id = (SELECT id FROM files WHERE name = 'f1.txt')",
    );
    expect(await verdict()).toEqual([
      4,
      expect.stringMatching(/✗ every batched or analysed file is in a batch[^]*f1\.txt/),
    ]);
  }, 120_000);
});
