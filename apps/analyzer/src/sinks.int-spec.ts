import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BatchFile } from '#contracts';
import { armFault, silentLogger } from '#service';
import { tempFolder, type TempFolder } from '#testing';
import { threadFile, ThreadPool } from '#worker-pool';
import { BatchRenderer, type RenderedBatch } from './batch-renderer.js';
import { HttpSink } from './http.sink.js';
import type { ItemRow, OpenBatch } from './open-batches.repository.js';
import type { Delivery, Sink } from './sink.js';
import { WriteSink } from './write.sink.js';

let folder: TempFolder;
const threads = new ThreadPool({
  file: threadFile(import.meta.url, './render-batch.thread.js'),
  logger: silentLogger,
  threads: 1,
});
/** What the batch came to, with the files of its text. */
async function render(batch: OpenBatch, base?: string, lastAttempt = false) {
  const rendered = await new BatchRenderer(threads, base).render(batch, { format: 'json', lastAttempt });
  return { ...rendered, sent: filesOf(rendered) };
}

interface SentFile {
  path: string;
  content: string;
  encoding: BufferEncoding;
}

function filesOf({ text }: RenderedBatch): SentFile[] {
  if (!text) return [];
  return (JSON.parse(Buffer.from(text).toString()) as { files: SentFile[] }).files;
}

const deliverTo = (sink: Sink, batch: OpenBatch): Promise<Delivery> =>
  sink.deliver(batch, { signal: new AbortController().signal, lastAttempt: false });

afterAll(() => threads.stop());

beforeEach(async () => {
  folder = await tempFolder('sink');
});

afterEach(async () => {
  armFault(undefined);
  await folder.remove();
});

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

let fileIds = 0;

/** A file and its item, as the tables would tell it. */
async function counted(
  name: string,
  content: string | Buffer,
  more: Partial<ItemRow> = {},
): Promise<ItemRow> {
  const path = join(folder.path, name);
  await writeFile(path, content);
  const bytes = Buffer.from(content as string);
  return {
    ...{ fileId: ++fileIds, revision: 1, tokens: 1, part: 1, parts: 1, start: 0, end: bytes.length },
    ...{ hash: sha256(bytes), rootId: 1, path, pathBytes: null, folderIdentity: null, current: null },
    superseded: null,
    ...{ size: null, mtimeNs: null, ctimeNs: null, inode: null, wholeHash: null },
    ...more,
  };
}

const batchOf = (...items: ItemRow[]): OpenBatch => ({
  id: 'b-1',
  totalTokens: 10,
  itemCount: items.length,
  items: JSON.stringify(items),
  trees: new Map([[1, { root: { text: folder.path, bytes: null }, followLinks: false }]]),
});

const idOf = ({ fileId, revision, part, parts, path }: ItemRow): Partial<BatchFile> => ({
  ...{ fileId, revision, part, parts, path },
});

describe('reading a batch', () => {
  it('gives the very bytes that were counted', async () => {
    const batch = await render(
      batchOf(await counted('a', 'text\n'), await counted('b', Buffer.from([0xff, 0x0a]))),
      folder.path,
    );
    expect(batch.sent.map(({ path, content, encoding }) => [path, encoding, content])).toEqual([
      ['a', 'utf-8', 'text\n'],
      ['b', 'base64', Buffer.from([0xff, 0x0a]).toString('base64')],
    ]);
    expect(batch).toMatchObject({ files: 2, stale: [], sha256: sha256(Buffer.from(batch.text!)) });
  });

  it('is the same text in whatever order its rows come', async () => {
    const items = [await counted('a', 'one'), await counted('b', 'two'), await counted('c', 'three')];
    const [first, again] = await Promise.all(
      [items, [...items].reverse()].map((each) => render(batchOf(...each))),
    );
    expect(again?.sha256).toBe(first?.sha256);
  });

  it('gives only the bytes of the part', async () => {
    const whole = { current: 1, size: 6, wholeHash: sha256('abcdef') };
    const part = { part: 2, parts: 2, start: 3, end: 6, hash: sha256('def'), ...whole };
    const batch = await render(batchOf(await counted('a', 'abcdef', part)));
    expect(batch.sent).toMatchObject([{ content: 'def' }]);
  });

  it('sets a file aside that changed, grew, shrank or went away', async () => {
    const files = await Promise.all(
      ['changed', 'grown', 'shrunk', 'gone'].map((name) => counted(name, `${name}....`)),
    );
    await writeFile(join(folder.path, 'changed'), 'chAnged....');
    await writeFile(join(folder.path, 'grown'), 'grown....more');
    await truncate(join(folder.path, 'shrunk'), 3);
    await rm(join(folder.path, 'gone'));
    const batch = await render(batchOf(...files));
    expect(batch.files).toBe(0);
    const reasons = new Map(batch.stale.map(({ fileId, reason }) => [fileId, reason]));
    expect(files.map(({ fileId }) => reasons.get(fileId))).toEqual([
      ...['changed', 'changed', 'changed', 'vanished'],
    ]);
  });

  it('sets aside at last what the system fails to read, and reads the others', async () => {
    const file = await counted('a', 'text');
    const unreadable = { ...file, fileId: file.fileId + 1, path: `${folder.path}/${'x'.repeat(300)}` };
    await expect(render(batchOf(file, unreadable))).rejects.toMatchObject({ code: 'PART_UNREAD' });
    const { sent, stale } = await render(batchOf(file, unreadable), undefined, true);
    expect(sent.map(({ path }) => path)).toEqual([file.path]);
    expect(stale).toEqual([{ ...idOf(unreadable), reason: 'unreadable' }]);
  });

  it('waits for a folder that is away, and sets only its files aside when others are there', async () => {
    const file = await counted('a', 'text');
    const away = { ...file, fileId: file.fileId + 1, path: `${folder.path}/away/a` };
    await expect(render(batchOf(away))).rejects.toMatchObject({ code: 'BATCH_AWAY' });
    expect(await render(batchOf(file, away))).toMatchObject({
      sent: [{ path: file.path }],
      stale: [{ ...idOf(away), reason: 'away' }],
    });
  });

  it('sends no part of a file that is another now, though the bytes of the part are the same', async () => {
    const whole = {
      current: 1,
      size: 7,
      mtimeNs: '1',
      ctimeNs: '1',
      inode: '1',
      wholeHash: sha256('one two'),
    };
    const part = await counted('a', 'one', { parts: 2, part: 1, ...whole });
    await writeFile(part.path, 'one two');
    const stale = [{ ...idOf(part), reason: 'changed' }];
    expect(await render(batchOf(part))).toMatchObject({ files: 1, stale: [] });
    expect(await render(batchOf({ ...part, wholeHash: sha256('one TWO') }))).toMatchObject({
      files: 0,
      stale,
    });
    // A later revision that is no other content, and one that was batched.
    expect(await render(batchOf({ ...part, current: 2 }))).toMatchObject({ files: 1, stale: [] });
    expect(await render(batchOf({ ...part, current: 2, wholeHash: null }))).toMatchObject({
      files: 0,
      stale,
    });
  });

  it('leaves out what a batch of a later revision stands for, though the bytes are the same', async () => {
    const [file, touched] = [await counted('a', 'one'), await counted('b', 'two', { superseded: 1 })];
    const { sent, stale } = await render(batchOf(file, touched));
    expect(sent.map(({ path }) => path)).toEqual([file.path]);
    expect(stale).toEqual([{ ...idOf(touched), reason: 'changed' }]);
  });

  it('does not follow a link that took the place of a file', async () => {
    const secret = join(folder.path, 'secret');
    await writeFile(secret, 'same');
    const file = await counted('a', 'same');
    await rm(file.path);
    await symlink(secret, file.path);
    expect((await render(batchOf(file))).stale).toEqual([{ ...idOf(file), reason: 'not-a-file' }]);
  });
});

const writeSink = (shared = false): WriteSink =>
  new WriteSink(new BatchRenderer(threads, folder.path), {
    ...{ directory: join(folder.path, 'out'), format: 'markdown', mark: () => 'p1', shared },
  });

describe('write sink', () => {
  it('writes one file a batch under a stable name, and writing again leaves the same one', async () => {
    const sink = writeSink();
    const batch = batchOf(await counted('a', 'text\n'));
    await deliverTo(sink, batch);
    const first = await readFile(join(folder.path, 'out', 'batch-b-1.md'), 'utf8');
    await deliverTo(sink, batch);
    expect(await readdir(join(folder.path, 'out'))).toEqual(['batch-b-1.md']);
    expect(await readFile(join(folder.path, 'out', 'batch-b-1.md'), 'utf8')).toBe(first);
    expect(first).toContain('## a\n\n```\ntext\n```\n');
  });

  it('takes back the file of an earlier try when nothing of the batch is left, and needs none to be there', async () => {
    const sink = writeSink();
    const file = await counted('a', 'text');
    const batch = batchOf(file);
    const nothingLeft = {
      ...{ files: 0, target: 'nothing left to write' },
      stale: [{ ...idOf(file), reason: 'changed' }],
    };
    await writeFile(file.path, 'other');
    expect(await deliverTo(sink, batch)).toEqual(nothingLeft);
    await writeFile(file.path, 'text');
    await deliverTo(sink, batch);
    expect(await readdir(join(folder.path, 'out'))).toEqual(['batch-b-1.md']);
    await writeFile(file.path, 'other');
    expect(await deliverTo(sink, batch)).toEqual(nothingLeft);
    expect(await readdir(join(folder.path, 'out'))).toEqual([]);
  });

  it('leaves nothing half-written when it fails before the rename', async () => {
    const sink = writeSink();
    armFault('analyzer.before-rename:1:throw');
    await expect(deliverTo(sink, batchOf(await counted('a', 'x')))).rejects.toThrow('fault injected');
    expect(await readdir(join(folder.path, 'out'))).toEqual([]);
  });

  it('clears away what a killed process of its pipeline left half-written, and nothing else', async () => {
    const out = join(folder.path, 'out');
    await mkdir(out);
    const names = ['.millrace-p1-old.part', '.millrace-p2-old.part', 'notes.part', '.millrace-p1-new.part'];
    for (const name of names) await writeFile(join(out, name), 'x');
    for (const name of names.slice(0, 3)) await utimes(join(out, name), 0, 0);
    await deliverTo(writeSink(), batchOf(await counted('a', 'x')));
    expect((await readdir(out)).sort()).toEqual([...names.slice(1), 'batch-b-1.md'].sort());
  });

  it.each([
    [false, 0o600, 0o700],
    [true, 0o644, 0o755],
  ])('keeps what it writes to its user unless it is shared (%p)', async (shared, file, directory) => {
    const umask = process.umask(0o022);
    try {
      await deliverTo(writeSink(shared), batchOf(await counted('a', 'x')));
    } finally {
      process.umask(umask);
    }
    const out = join(folder.path, 'out');
    expect((await stat(join(out, 'batch-b-1.md'))).mode & 0o777).toBe(file);
    expect((await stat(out)).mode & 0o777).toBe(directory);
  });

  it('takes no batch while its folder cannot be made, and makes it when it can', async () => {
    const sink = writeSink();
    const batch = batchOf(await counted('a', 'x'));
    await writeFile(join(folder.path, 'out'), 'in its place');
    await expect(deliverTo(sink, batch)).rejects.toMatchObject({
      code: 'DESTINATION_AWAY',
      message: expect.stringMatching(/out: it is not a folder/),
    });
    await rm(join(folder.path, 'out'));
    await deliverTo(sink, batch);
    expect(await readdir(join(folder.path, 'out'))).toEqual(['batch-b-1.md']);
  });

  it('makes its folder again when it went away', async () => {
    const sink = writeSink();
    const batch = batchOf(await counted('a', 'x'));
    await deliverTo(sink, batch);
    await rm(join(folder.path, 'out'), { recursive: true });
    await expect(deliverTo(sink, batch)).rejects.toMatchObject({ code: 'DESTINATION_AWAY' });
    await deliverTo(sink, batch);
    expect(await readdir(join(folder.path, 'out'))).toEqual(['batch-b-1.md']);
  });

  it('builds no path from a hostile batch id', async () => {
    const sink = writeSink();
    const batch = batchOf(await counted('a', 'x'));
    const { target } = await deliverTo(sink, { ...batch, id: '../../etc/passwd' });
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
    new HttpSink(new BatchRenderer(threads, folder.path), {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/batches`,
      authorization: 'Bearer s3cret',
      timeoutMs,
      keepResults: true,
    });
  const deliver = async (sink: HttpSink): Promise<Delivery> =>
    deliverTo(sink, batchOf(await counted('a', 'text')));

  it('never sends two bodies under one idempotency key', async () => {
    const keys: unknown[] = [];
    answer = ({ headers }, response) => {
      keys.push(headers['idempotency-key']);
      response.end();
    };
    const files = [await counted('a', 'alpha'), await counted('b', 'beta')];
    const send = (): Promise<unknown> => deliverTo(sinkTo(), batchOf(...files));
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
