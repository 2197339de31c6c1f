import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BatchEvent, BatchFile } from '#contracts';
import { armFault, silentLogger } from '#service';
import { tempFolder, type TempFolder } from '#testing';
import { threadFile, ThreadPool } from '#worker-pool';
import type { BatchItem } from './batch-items.repository.js';
import { BatchReader, type LoadedBatch } from './batch-reader.js';
import { HttpSink } from './http.sink.js';
import { WriteSink } from './write.sink.js';

let folder: TempFolder;
const threads = new ThreadPool({
  file: threadFile(import.meta.url, './read-parts.thread.js'),
  logger: silentLogger,
  threads: 1,
});
const readBatch = (batch: BatchEvent, base?: string, lastAttempt = false): Promise<LoadedBatch> =>
  new BatchReader(threads, { of: ({ files }) => Promise.resolve(files.map(itemOf)) }, base).read(batch, {
    lastAttempt,
  });

/** As its row would tell. */
function itemOf(file: BatchFile): BatchItem {
  const path = { text: file.path, bytes: file.pathBytes ?? null };
  return { file, place: { root: { text: folder.path, bytes: null }, path, followLinks: false } };
}

afterAll(() => threads.close());

beforeEach(async () => {
  folder = await tempFolder('sink');
});

afterEach(async () => {
  armFault(undefined);
  await folder.remove();
});

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function counted(
  name: string,
  content: string | Buffer,
  more: Partial<BatchFile> = {},
): Promise<BatchFile> {
  const path = join(folder.path, name);
  await writeFile(path, content);
  const bytes = Buffer.from(content as string);
  return {
    fileId: 1,
    revision: 1,
    path,
    tokens: 1,
    part: 1,
    parts: 1,
    start: 0,
    end: bytes.length,
    hash: sha256(bytes),
    ...more,
  };
}

const batchOf = (...files: BatchFile[]): BatchEvent => ({ id: 'b-1', totalTokens: 10, files });

describe('reading a batch', () => {
  it('gives the very bytes that were counted', async () => {
    const batch = await readBatch(
      batchOf(await counted('a', 'text\n'), await counted('b', Buffer.from([0xff, 0x0a]))),
      folder.path,
    );
    expect(batch.files.map(({ path, bytes }) => [path, bytes.toString('hex')])).toEqual([
      ['a', Buffer.from('text\n').toString('hex')],
      ['b', 'ff0a'],
    ]);
    expect(batch.stale).toEqual([]);
  });

  it('gives only the bytes of the part', async () => {
    const part = { part: 2, parts: 2, start: 3, end: 6, hash: sha256('def') };
    const batch = await readBatch(batchOf(await counted('a', 'abcdef', part)));
    expect(batch.files[0]?.bytes.toString()).toBe('def');
  });

  it('sets a file aside that changed, grew, shrank or went away', async () => {
    const files = await Promise.all(
      ['changed', 'grown', 'shrunk', 'gone'].map((name) => counted(name, `${name}....`)),
    );
    await writeFile(join(folder.path, 'changed'), 'chAnged....');
    await writeFile(join(folder.path, 'grown'), 'grown....more');
    await truncate(join(folder.path, 'shrunk'), 3);
    await rm(join(folder.path, 'gone'));
    const batch = await readBatch(batchOf(...files));
    expect(batch.files).toEqual([]);
    expect(batch.stale.map(({ reason }) => reason)).toEqual(['changed', 'changed', 'changed', 'vanished']);
  });

  it('sets aside at last what the system fails to read, and reads the others', async () => {
    const file = await counted('a', 'text');
    const unreadable = { ...file, path: `${folder.path}/${'x'.repeat(300)}` };
    await expect(readBatch(batchOf(file, unreadable))).rejects.toMatchObject({ code: 'PART_UNREAD' });
    const { files, stale } = await readBatch(batchOf(file, unreadable), undefined, true);
    expect(files.map((loaded) => loaded.file)).toEqual([file]);
    expect(stale).toEqual([{ file: unreadable, reason: 'unreadable' }]);
  });

  it('waits for a folder that is away, and sets only its files aside when others are there', async () => {
    const file = await counted('a', 'text');
    const away = { ...file, path: `${folder.path}/away/a` };
    await expect(readBatch(batchOf(away))).rejects.toMatchObject({ code: 'RETRY_LATER' });
    expect(await readBatch(batchOf(file, away))).toMatchObject({
      files: [{ file }],
      stale: [{ file: away, reason: 'away' }],
    });
  });

  it('sends no part of a file that is another now, though the bytes of the part are the same', async () => {
    const part = await counted('a', 'one', { parts: 2, part: 1 });
    await writeFile(part.path, 'one two');
    const whole = { stat: { size: 7, mtimeNs: '1', ctimeNs: '1', inode: '1' }, hash: sha256('one two') };
    const read = (over: Partial<BatchItem>): Promise<LoadedBatch> =>
      new BatchReader(threads, { of: () => Promise.resolve([{ ...itemOf(part), ...over }]) }).read(
        batchOf(part),
      );
    expect(await read({ whole })).toMatchObject({ files: [{ file: part }], stale: [] });
    const edited = { ...whole, hash: sha256('one TWO') };
    const stale = [{ file: part, reason: 'changed' }];
    expect(await read({ whole: edited })).toMatchObject({ files: [], stale });
    expect(await read({ whole: 'superseded' })).toMatchObject({ files: [], stale });
  });

  it('does not follow a link that took the place of a file', async () => {
    const secret = join(folder.path, 'secret');
    await writeFile(secret, 'same');
    const file = await counted('a', 'same');
    await rm(file.path);
    await symlink(secret, file.path);
    expect((await readBatch(batchOf(file))).stale).toEqual([{ file, reason: 'not-a-file' }]);
  });
});

const writeSink = (shared = false): WriteSink =>
  new WriteSink({ directory: join(folder.path, 'out'), format: 'markdown', mark: () => 'p1', shared });

describe('write sink', () => {
  it('writes one file a batch under a stable name, and writing again leaves the same one', async () => {
    const sink = writeSink();
    const batch = await readBatch(batchOf(await counted('a', 'text\n')), folder.path);
    await sink.deliver(batch);
    const first = await readFile(join(folder.path, 'out', 'batch-b-1.md'), 'utf8');
    await sink.deliver(batch);
    expect(await readdir(join(folder.path, 'out'))).toEqual(['batch-b-1.md']);
    expect(await readFile(join(folder.path, 'out', 'batch-b-1.md'), 'utf8')).toBe(first);
    expect(first).toContain('## a\n\n```\ntext\n```\n');
  });

  it('takes back the file of an earlier try when nothing of the batch is left, and needs none to be there', async () => {
    const sink = writeSink();
    const file = await counted('a', 'text');
    const batch = await readBatch(batchOf(file));
    const nothingLeft: LoadedBatch = { ...batch, files: [], stale: [{ file, reason: 'changed' }] };
    expect(await sink.deliver(nothingLeft)).toEqual({ target: 'nothing left to write' });
    await sink.deliver(batch);
    expect(await sink.deliver(nothingLeft)).toEqual({ target: 'nothing left to write' });
    expect(await readdir(join(folder.path, 'out'))).toEqual([]);
  });

  it('leaves nothing half-written when it fails before the rename', async () => {
    const sink = writeSink();
    armFault('analyzer.before-rename:1:throw');
    await expect(sink.deliver(await readBatch(batchOf(await counted('a', 'x'))))).rejects.toThrow(
      'fault injected',
    );
    expect(await readdir(join(folder.path, 'out'))).toEqual([]);
  });

  it('clears away what a killed process of its pipeline left half-written, and nothing else', async () => {
    const out = join(folder.path, 'out');
    await mkdir(out);
    const names = ['.millrace-p1-old.part', '.millrace-p2-old.part', 'notes.part', '.millrace-p1-new.part'];
    for (const name of names) await writeFile(join(out, name), 'x');
    for (const name of names.slice(0, 3)) await utimes(join(out, name), 0, 0);
    await writeSink().deliver(await readBatch(batchOf(await counted('a', 'x'))));
    expect((await readdir(out)).sort()).toEqual([...names.slice(1), 'batch-b-1.md'].sort());
  });

  it.each([
    [false, 0o600, 0o700],
    [true, 0o644, 0o755],
  ])('keeps what it writes to its user unless it is shared (%p)', async (shared, file, directory) => {
    const umask = process.umask(0o022);
    try {
      await writeSink(shared).deliver(await readBatch(batchOf(await counted('a', 'x'))));
    } finally {
      process.umask(umask);
    }
    const out = join(folder.path, 'out');
    expect((await stat(join(out, 'batch-b-1.md'))).mode & 0o777).toBe(file);
    expect((await stat(out)).mode & 0o777).toBe(directory);
  });

  it('takes no batch while its folder cannot be made, and makes it when it can', async () => {
    const sink = writeSink();
    const batch = await readBatch(batchOf(await counted('a', 'x')));
    await writeFile(join(folder.path, 'out'), 'in its place');
    await expect(sink.deliver(batch)).rejects.toMatchObject({
      code: 'DESTINATION_AWAY',
      message: expect.stringMatching(/out: it is not a folder/),
    });
    await rm(join(folder.path, 'out'));
    await sink.deliver(batch);
    expect(await readdir(join(folder.path, 'out'))).toEqual(['batch-b-1.md']);
  });

  it('makes its folder again when it went away', async () => {
    const sink = writeSink();
    const batch = await readBatch(batchOf(await counted('a', 'x')));
    await sink.deliver(batch);
    await rm(join(folder.path, 'out'), { recursive: true });
    await expect(sink.deliver(batch)).rejects.toMatchObject({ code: 'DESTINATION_AWAY' });
    await sink.deliver(batch);
    expect(await readdir(join(folder.path, 'out'))).toEqual(['batch-b-1.md']);
  });

  it('builds no path from a hostile batch id', async () => {
    const sink = writeSink();
    const batch = await readBatch(batchOf(await counted('a', 'x')));
    const { target } = await sink.deliver({ ...batch, id: '../../etc/passwd' });
    expect(target).toBe(join(folder.path, 'out', 'batch-______etc_passwd.md'));
  });
});

describe('http sink', () => {
  let server: Server;
  let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;

  beforeEach(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => answer(request, response, Buffer.concat(chunks).toString()));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const sinkTo = (timeoutMs = 30_000): HttpSink =>
    new HttpSink({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/batches`,
      authorization: 'Bearer s3cret',
      timeoutMs,
      keepResults: true,
    });
  const deliver = async (sink: HttpSink) =>
    sink.deliver(
      await readBatch(batchOf(await counted('a', 'text')), folder.path),
      new AbortController().signal,
    );

  it('never sends two bodies under one idempotency key', async () => {
    const keys: unknown[] = [];
    answer = ({ headers }, response) => {
      keys.push(headers['idempotency-key']);
      response.end();
    };
    const files = [await counted('a', 'alpha'), await counted('b', 'beta')];
    const send = async (): Promise<unknown> =>
      sinkTo().deliver(await readBatch(batchOf(...files), folder.path), new AbortController().signal);
    await send();
    await send();
    await writeFile(join(folder.path, 'b'), 'edited');
    await send();
    expect(keys[0]).toMatch(/^b-1-[0-9a-f]{32}$/);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).toMatch(/^b-1-[0-9a-f]{32}$/);
    expect(keys[2]).not.toBe(keys[0]);
  });

  it('posts the batch with its id in the idempotency key and the configured authorization, and keeps the answer', async () => {
    let seen: { headers: IncomingMessage['headers']; body: unknown } | undefined;
    answer = ({ headers }, response, body) => {
      seen = { headers, body: JSON.parse(body) as unknown };
      response.end('{"verdict":"fine"}');
    };
    expect((await deliver(sinkTo())).result).toEqual({ verdict: 'fine' });
    expect(seen?.headers).toMatchObject({
      'idempotency-key': expect.stringMatching(/^b-1-/),
      authorization: 'Bearer s3cret',
      'content-type': 'application/json',
    });
    expect(seen?.body).toMatchObject({
      batchId: 'b-1',
      totalTokens: 10,
      files: [{ path: 'a', content: 'text', encoding: 'utf-8' }],
    });
  });

  it('tells how long to wait when the analyser is busy', async () => {
    answer = (_, response) => response.writeHead(429, { 'retry-after': '7' }).end();
    await expect(deliver(sinkTo())).rejects.toMatchObject({
      code: 'DESTINATION_AWAY',
      busy: true,
      retryAfterMs: 7_000,
    });
  });

  it('gives up for good on what the analyser refuses', async () => {
    answer = (_, response) => response.writeHead(422).end('too many tokens');
    await expect(deliver(sinkTo())).rejects.toMatchObject({
      code: 'BATCH_REFUSED',
      status: 422,
      message: expect.stringContaining('too many tokens'),
    });
  });

  it.each([500, 502])('tries again after status %p', async (status) => {
    answer = (_, response) => response.writeHead(status).end();
    await expect(deliver(sinkTo())).rejects.toMatchObject({ code: 'DESTINATION_AWAY' });
  });

  it('does not follow a redirect', async () => {
    answer = (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    await expect(deliver(sinkTo())).rejects.toMatchObject({ code: 'DESTINATION_AWAY' });
  });

  it('ends a request that takes longer than the timeout', async () => {
    answer = () => {};
    await expect(deliver(sinkTo(50))).rejects.toMatchObject({ code: 'DESTINATION_AWAY' });
  });

  it('cuts an answer that never ends', async () => {
    answer = (_, response) => {
      response.writeHead(200);
      const pump = (): void => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', pump);
      };
      pump();
    };
    expect(String((await deliver(sinkTo())).result)).toHaveLength(1024 * 1024);
  });
});
