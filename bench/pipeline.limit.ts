import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread, parentPort, workerData, Worker } from 'node:worker_threads';
import { EnvelopeMeter, renderBatch, type LoadedFile } from '#envelope';
import { TokenCounter } from '#tokens';

// The limit: our own counter, a packer and the envelope, on as many threads as there are cores; no database, no queue, no proof.
const MAX_TOKENS = 128_000;

interface Share {
  root: string;
  paths: string[];
  out: string;
}

function carry({ root, paths, out }: Share): void {
  const counter = new TokenCounter('o200k_base');
  const meter = new EnvelopeMeter('markdown', 'o200k_base');
  let [files, tokens, batches] = [[] as LoadedFile[], 0, 0];
  const write = (): void => {
    writeFileSync(
      join(out, `${batches++}.md`),
      Buffer.concat(renderBatch('markdown', String(batches), tokens, files)),
    );
    [files, tokens] = [[], 0];
  };
  mkdirSync(out, { recursive: true });
  for (const path of paths) {
    const bytes = readFileSync(join(root, path));
    if (bytes.subarray(0, 8_192).includes(0)) continue;
    counter.push(bytes);
    const raw = counter.end();
    const hash = createHash('sha256').update(bytes).digest('hex');
    const facts = { part: 1, parts: 1, start: 0, end: bytes.length, hash };
    const { tokens: own, cost } = meter.measure({ ...facts, path }, bytes, { raw });
    if (tokens + cost > MAX_TOKENS) write();
    files.push({ file: { ...facts, tokens: own }, path, bytes });
    tokens += cost;
  }
  if (files.length > 0) write();
}

export interface Limit {
  wall: number;
  cpu: number;
}

/** Seconds to carry the files with so many threads, from when all have loaded their code. */
export async function limitOf(
  root: string,
  paths: readonly string[],
  out: string,
  threads: number,
): Promise<Limit> {
  const workers = Array.from({ length: threads }, (_, index) => {
    const share = paths.filter((_path, position) => position % threads === index);
    const data: Share = { root, paths: share, out: join(out, String(index)) };
    return new Worker(new URL(import.meta.url), { workerData: data });
  });
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const [started, before] = [performance.now(), process.cpuUsage()];
  const ended = workers.map((worker) => once(worker, 'exit'));
  for (const worker of workers) worker.postMessage('begin');
  await Promise.all(ended);
  const { user, system } = process.cpuUsage(before);
  return { wall: (performance.now() - started) / 1_000, cpu: (user + system) / 1e6 };
}

if (!isMainThread && parentPort) {
  parentPort.once('message', () => {
    carry(workerData as Share);
    parentPort?.unref();
  });
  parentPort.postMessage('ready');
}
