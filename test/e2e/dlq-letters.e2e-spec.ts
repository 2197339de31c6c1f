import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FILE_JOB, type DeadLetter } from '#contracts';
import { execute, queryRows } from '#database';
import { DlqProblemError } from '#dlq-client';
import { createRedisClient, parseRedisUrl } from '#redis';
import { Metrics, silentLogger, systemClock } from '#service';
import { DATABASE_KINDS, eventually, sharedRedis, tempFolder, type DatabaseKind } from '#testing';
import { DlqAdminConfig } from '../../apps/dlq-admin/src/dlq-admin.config.js';
import { RequeuedLetters } from '../../apps/dlq-admin/src/letters/requeued-letters.service.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';
import { seedBatch } from './seeded-batch.js';

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no error',
    (error: unknown) => (error instanceof DlqProblemError ? error.code : String(error)),
  );

describe.each(DATABASE_KINDS)('dead letters on %s', (kind) => {
  let admin: TestDlqAdmin;
  beforeAll(async () => {
    admin = await startDlqAdmin(kind, { env: { TRACE_URL: 'https://traces.example/{traceId}?all' } });
  }, 60_000);
  afterAll(() => admin.stop());

  const take = async (letters: readonly DeadLetter[], settled = letters.length): Promise<number[]> => {
    const queue = letters[0]?.queue ?? '';
    await admin.send(letters);
    await eventually(async () => {
      expect((await admin.client.letters({ queue }, { limit: 200 })).items.length).toBeGreaterThanOrEqual(
        Math.min(200, settled),
      );
      const { waiting, active } = await admin.queues.getQueue(admin.queues.settings.deadLetterQueue).counts();
      expect(waiting + active).toBe(0);
    });
    return (await admin.client.letters({ queue }, { limit: 200 })).items.map(({ id }) => id);
  };
  const rows = <T extends object>(sql: string, params: unknown[] = []): Promise<T[]> =>
    admin.database.read((manager) => queryRows<T>(manager, sql, params));
  const outbox = (id: string): Promise<{ queue: string; payload: string; status: string }[]> =>
    rows('SELECT queue, payload, status FROM outbox WHERE id = $1', [id]);

  it('are stored once however often they are delivered, with all that is known of the failure', async () => {
    const letter = deadLetter({ queue: 'q-once', trace: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` });
    const [id = 0] = await take([letter]);
    await admin.queues.enqueueJobs(
      admin.queues.settings.deadLetterQueue,
      { name: 'again', parse: (v: DeadLetter) => v } as never,
      [{ jobId: 'another-delivery', payload: letter }],
    );
    await eventually(async () =>
      expect(
        (await admin.queues.getQueue(admin.queues.settings.deadLetterQueue).counts()).completed,
      ).toBeGreaterThan(0),
    );
    const detail = await admin.client.letter(id);
    expect(await admin.client.count({ queue: 'q-once' })).toEqual({ count: 1, exact: true });
    expect(detail).toMatchObject({
      queue: 'q-once',
      jobId: letter.jobId,
      payload: letter.data,
      stack: letter.stack,
      attempts: letter.attempts,
      lastWorkerId: letter.lastWorkerId,
      deadLetteredAt: letter.deadLetteredAt,
      traceUrl: `https://traces.example/${'a'.repeat(32)}?all`,
      status: 'open',
      version: 1,
    });
    expect(detail.history.map(({ event }) => event)).toEqual(['dead-lettered']);
  });

  it('are requeued through the outbox, once, with fresh attempts, and refused a second time while that runs', async () => {
    const letter = deadLetter({ queue: 'q-requeue', options: { attempts: 4 } });
    const [id = 0] = await take([letter]);
    const requeued = await admin.client.change(id, 'requeue', 'fixed in build 7');
    expect(requeued).toMatchObject({ status: 'requeued', replayCount: 1 });
    const [event] = await outbox(`r-${id}-1`);
    expect(event).toMatchObject({ queue: 'q-requeue', status: 'PENDING' });
    expect(JSON.parse(event?.payload ?? '')).toMatchObject(letter.data as object);
    expect(await codeOf(admin.client.change(id, 'requeue'))).toBe('NOT_OPEN');
    expect((await admin.client.letter(id)).history.at(-1)).toMatchObject({
      event: 'requeued',
      details: { note: 'fixed in build 7' },
    });
  });

  it('come back as the same letter, reopened with their history, when the redriven job fails again', async () => {
    const letter = deadLetter({ queue: 'q-again' });
    const [id = 0] = await take([letter]);
    await admin.client.change(id, 'requeue');
    const again = deadLetter({
      queue: 'q-again',
      jobId: `e-r-${id}-1`,
      errorName: 'TypeError',
      errorMessage: 'x is not a function',
      failedAt: Date.now() + 5,
    });
    await admin.send([again]);
    await eventually(async () =>
      expect(await admin.client.letter(id)).toMatchObject({ status: 'open', errorName: 'TypeError' }),
    );
    const reopened = await admin.client.letter(id);
    expect(reopened.history.map(({ event }) => event)).toEqual(['dead-lettered', 'requeued', 'reopened']);
    expect(reopened.history.at(-1)?.details).toMatchObject({
      before: { error: expect.stringContaining('cannot read') },
    });
    await admin.send([{ ...again, failedAt: again.failedAt + 1 }]);
    await admin.client.change(id, 'requeue');
    await take([deadLetter({ queue: 'q-again-other' })]);
    expect(await admin.client.letter(id)).toMatchObject({ status: 'requeued', replayCount: 2 });
    expect(await admin.client.count({ queue: 'q-again' })).toEqual({ count: 1, exact: true });
  });

  it('are resolved, with when and by what, once the requeued job has succeeded, and open when it fails after all', async () => {
    const folder = await tempFolder('resolved');
    const batch = await seedBatch(admin.database, folder.path, { 'a.txt': 'one' });
    const file = batch.files[0]?.fileId ?? 0;
    const job = { fileId: file, revision: 1, filePath: '/a.txt', fileSize: 3 };
    const [ofBatch = 0] = await take([
      deadLetter({ queue: 'file-analysis-queue', jobId: `e-${batch.id}`, data: batch }),
    ]);
    const [ofFile = 0] = await take([
      deadLetter({ queue: 'files-to-batch-queue', jobId: `f-${file}-1`, data: job }),
    ]);
    const change = (sql: string, ...params: unknown[]): Promise<number> =>
      admin.database.inTransaction((tx) => execute(tx, sql, params));
    for (const id of [ofBatch, ofFile]) await admin.client.change(id, 'requeue');
    const resolutions = admin.get(RequeuedLetters);
    const states = async (): Promise<string[]> =>
      Promise.all([ofBatch, ofFile].map(async (id) => (await admin.client.letter(id)).status));
    await resolutions.tick();
    await change(
      "UPDATE outbox SET status = 'PUBLISHED' WHERE id IN ($1, $2)",
      `r-${ofBatch}-1`,
      `r-${ofFile}-1`,
    );
    // The file is failed still, and the batch not delivered.
    await resolutions.tick();
    expect(await states()).toEqual(['requeued', 'requeued']);
    await change("UPDATE files SET status = 'batched' WHERE id = $1", file);
    await change('UPDATE batches SET completed_at = 123 WHERE id = $1', batch.id);
    await eventually(async () => expect(await states()).toEqual(['resolved', 'resolved']));
    expect(await admin.client.letter(ofBatch)).toMatchObject({ resolvedAt: 123, resolvedBy: batch.id });
    expect((await admin.client.letter(ofFile)).history.at(-1)).toMatchObject({
      event: 'resolved',
      details: { by: batch.id, replay: 1 },
    });
    const of = { queue: 'file-analysis-queue' };
    expect((await admin.client.letters({ ...of, status: 'resolved' })).items.map(({ id }) => id)).toEqual([
      ofBatch,
    ]);
    expect((await admin.client.count({ ...of, status: 'requeued' })).count).toBe(0);
    await admin.send([
      deadLetter({ ...of, jobId: `e-r-${ofBatch}-1`, data: batch, failedAt: Date.now() + 5 }),
    ]);
    await eventually(async () =>
      expect(await admin.client.letter(ofBatch)).toMatchObject({
        status: 'open',
        resolvedAt: null,
        resolvedBy: null,
      }),
    );
    await folder.remove();
  });

  it('are refused after MAX_REPLAYS redrives, until the payload is edited', async () => {
    const [id = 0] = await take([deadLetter({ queue: 'q-loop' })]);
    for (let replay = 1; replay <= 5; replay++) {
      await admin.client.change(id, 'requeue');
      await admin.send([
        deadLetter({ queue: 'q-loop', jobId: `e-r-${id}-${replay}`, failedAt: Date.now() + replay }),
      ]);
      await eventually(async () => expect((await admin.client.letter(id)).status).toBe('open'));
    }
    expect(await codeOf(admin.client.change(id, 'requeue'))).toBe('REPLAY_LIMIT');
    const { version } = await admin.client.letter(id);
    await admin.client.editPayload(id, version, { n: 1, fixed: true });
    expect(await admin.client.change(id, 'requeue')).toMatchObject({ status: 'requeued', replayCount: 6 });
  });

  it('are edited only from the version that was read, and keep the payload before', async () => {
    const [id = 0] = await take([deadLetter({ queue: 'q-edit', data: { a: 1 } })]);
    const edited = await admin.client.editPayload(id, 1, { a: 2 }, 'typo');
    expect(edited).toMatchObject({ payload: { a: 2 }, version: 2 });
    expect(await codeOf(admin.client.editPayload(id, 1, { a: 3 }))).toBe('VERSION');
    expect(edited.history.at(-1)).toMatchObject({
      event: 'edited',
      details: { before: { a: 1 }, note: 'typo' },
    });
    expect(
      (await admin.client.letters({ queue: 'q-edit', payload: { a: '2' } })).items.map((one) => one.id),
    ).toEqual([id]);
    expect((await admin.client.letters({ queue: 'q-edit', payload: { a: '1' } })).items).toEqual([]);
  });

  it('must keep the contract of their queue when edited or requeued', async () => {
    const data = { filePath: '/a', fileSize: 1, fileId: 900_001, revision: 1 };
    const [id = 0] = await take([
      deadLetter({ queue: 'files-to-batch-queue', data: { ...data, fileSize: 'big' }, reason: 'invalid' }),
    ]);
    expect((await admin.client.letter(id)).faults).toMatchObject([{ path: 'fileSize' }]);
    expect(await codeOf(admin.client.change(id, 'requeue'))).toBe('INVALID_PAYLOAD');
    expect(await codeOf(admin.client.editPayload(id, 1, { ...data, revision: 0 }))).toBe('CONTRACT');
    expect(FILE_JOB.faultsOf((await admin.client.editPayload(id, 1, data)).payload)).toEqual([]);
    expect(await admin.client.change(id, 'requeue')).toMatchObject({ status: 'requeued' });
  });

  it('can be discarded with a note and restored', async () => {
    const [id = 0] = await take([deadLetter({ queue: 'q-discard' })]);
    expect(await admin.client.change(id, 'discard', 'test data')).toMatchObject({
      status: 'discarded',
      note: 'test data',
    });
    expect(await codeOf(admin.client.change(id, 'requeue'))).toBe('NOT_OPEN');
    expect(await admin.client.change(id, 'restore')).toMatchObject({ status: 'open' });
    expect((await admin.client.letter(id)).history.map(({ event }) => event)).toEqual([
      'dead-lettered',
      'discarded',
      'restored',
    ]);
  });

  it('are stored without secrets, and cannot be requeued before those are given anew', async () => {
    const secret = 'hunter2hunter2';
    const jwt = `eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)}`;
    const [id = 0] = await take([
      deadLetter({
        queue: 'q-secret',
        data: { login: { password: secret }, list: [{ note: `see ${jwt}` }] },
        errorMessage: `refused https://joe:${secret}@host/x`,
        stack: `Error: refused https://joe:${secret}@host/x\n    at a (/app/apps/x/src/a.js:1:1)`,
      }),
    ]);
    const letter = await admin.client.letter(id);
    expect(letter.redactedPaths).toEqual(['list[0].note', 'login.password']);
    const stored = JSON.stringify(await rows('SELECT * FROM dead_letters WHERE id = $1', [id]));
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(jwt);
    expect(await codeOf(admin.client.change(id, 'requeue'))).toBe('REDACTED_PAYLOAD');
    const given = `given anew ${secret}`;
    const edited = await admin.client.editPayload(id, 1, { login: { password: given }, list: [] });
    expect(edited.payload).toEqual({ login: { password: '[redacted]' }, list: [] });
    expect((await admin.client.letters({ text: 'given anew' })).items).toEqual([]);
    expect(await admin.client.change(id, 'requeue')).toMatchObject({ status: 'requeued' });
    const [event] = await outbox(`r-${id}-1`);
    expect(event?.payload).toContain(given);
    for (const table of ['dead_letters', 'dead_letter_history', 'audit_log', 'idempotency_keys'])
      expect([table, JSON.stringify(await rows(`SELECT * FROM ${table}`)).includes(given)]).toEqual([
        table,
        false,
      ]);
  });

  it('that are hostile in shape are taken in like any other, and block nobody', async () => {
    const items = Array.from({ length: 200_000 }, (_, n) => n);
    const ids = await take([
      deadLetter({ queue: 'q-hostile', data: { items } }),
      deadLetter({
        queue: 'q-hostile',
        errorMessage: 'eyJ-'.repeat(30_000),
        data: { text: 'eyJ-'.repeat(30_000) },
      }),
      deadLetter({ queue: 'q-hostile' }),
    ]);
    expect(ids).toHaveLength(3);
  });

  it('that fail their intake twice are set aside as they are, and others are taken in', async () => {
    const refuse: Record<DatabaseKind, string[]> = {
      sqlite: [
        `CREATE TRIGGER cursed BEFORE INSERT ON dead_letters WHEN NEW.name = 'cursed' BEGIN SELECT RAISE(ABORT, 'cursed'); END`,
      ],
      postgres: [
        `CREATE FUNCTION cursed() RETURNS trigger AS 'BEGIN RAISE EXCEPTION ''cursed''; END' LANGUAGE plpgsql`,
        `CREATE TRIGGER cursed BEFORE INSERT ON dead_letters FOR EACH ROW WHEN (NEW.name = 'cursed') EXECUTE FUNCTION cursed()`,
      ],
    };
    for (const sql of refuse[kind]) await admin.database.inTransaction((tx) => tx.query(sql));
    const bad = deadLetter({ queue: 'q-cursed', jobName: 'cursed', data: { as: 'it is' } });
    await take([bad, deadLetter({ queue: 'q-cursed' }), deadLetter({ queue: 'q-cursed' })]);
    const told = (await admin.client.letters({ queue: 'q-cursed' })).items.find(
      ({ jobId }) => jobId === bad.jobId,
    );
    expect(told).toMatchObject({ name: 'set aside', reason: 'invalid', errorName: 'IntakeError' });
    const aside = admin.queues.getQueue(`${admin.queues.settings.deadLetterQueue}-set-aside`);
    expect(
      (await aside.getJobs(['waiting', 'prioritized'])).map(({ data }) => data as unknown),
    ).toMatchObject([bad]);
    expect(await admin.queues.getQueue(admin.queues.settings.deadLetterQueue).counts()).toMatchObject({
      waiting: 0,
      delayed: 0,
    });
    await admin.database.inTransaction((tx) =>
      tx.query(`DROP TRIGGER cursed${kind === 'postgres' ? ' ON dead_letters' : ''}`),
    );
  });

  it('mark the files they name as failed, in the same transaction, unless the file has moved on', async () => {
    await admin.database.inTransaction(async (tx) => {
      await execute(tx, "INSERT INTO roots (id, path, path_key, created_at) VALUES (77, '/r', 'rk', 1)");
      await execute(
        tx,
        "INSERT INTO folders (id, root_id, path, path_key, depth, first_scanned_at, last_scanned_at, last_scan_id) VALUES (77, 77, '/r', 'fk', 0, 1, 1, 1)",
      );
      for (const [id, revision, status] of [
        [771, 1, 'pending'],
        [772, 2, 'batched'],
        [773, 3, 'pending'],
        [774, 1, 'batched'],
        [775, 1, 'batched'],
      ] as const)
        await execute(
          tx,
          `INSERT INTO files (id, root_id, folder_id, name, path, size, mtime_ns, ctime_ns, inode, revision, status, first_scanned_at, last_scanned_at, last_scan_id)
           VALUES ($1, 77, 77, $2, $2, 1, '1', '1', '1', $3, $4, 1, 1, 1)`,
          [id, `/r/${id}`, revision, status],
        );
      for (const [id, revision] of [
        [772, 2],
        [774, 1],
        [775, 1],
      ] as const) {
        await execute(
          tx,
          "INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at) VALUES ($1, 1, 1, 1, 'test', 1)",
          [`b-${id}`],
        );
        await execute(
          tx,
          `INSERT INTO batch_items (file_id, revision, part, parts, batch_id, byte_start, byte_end, tokens, content_hash)
           VALUES ($1, $2, 1, 1, $3, 0, 1, 1, 'h')`,
          [id, revision, `b-${id}`],
        );
      }
    });
    const file = (fileId: number, revision: number): DeadLetter =>
      deadLetter({
        queue: 'files-to-batch-queue',
        data: { filePath: `/r/${fileId}`, fileSize: 1, fileId, revision },
      });
    const batch = (over: Partial<DeadLetter>): DeadLetter =>
      deadLetter({ queue: 'file-analysis-queue', ...over });
    // Of a batch it is enough to know which: its items name the files, also when its event was too long for a letter.
    await admin.send([
      file(771, 1),
      file(773, 2),
      batch({ data: { id: 'b-772', totalTokens: 1, files: [] } }),
      batch({ data: { id: 'b-774', totalTokens: 1, files: [], omitted: { files: 5_000 } } }),
      batch({ jobId: 'e-b-775', data: { unreadable: 'too long', characters: 70_000_000, head: '{' } }),
    ]);
    await eventually(async () =>
      expect(await rows('SELECT id, status FROM files WHERE root_id = 77 ORDER BY id')).toEqual([
        { id: 771, status: 'failed' },
        { id: 772, status: 'failed' },
        { id: 773, status: 'pending' },
        { id: 774, status: 'failed' },
        { id: 775, status: 'failed' },
      ]),
    );
  });

  it('whose redriven job Redis has lost are offered again under the same id while their file waits', async () => {
    const [letter] = await rows<{ id: number }>(
      "SELECT id FROM dead_letters WHERE queue = 'files-to-batch-queue' AND payload LIKE '%/r/771%'",
    );
    const id = letter?.id ?? 0;
    await admin.client.change(id, 'requeue');
    await admin.database.inTransaction((tx) =>
      execute(tx, "UPDATE outbox SET status = 'PUBLISHED', published_at = 1, attempts = 1 WHERE id = $1", [
        `r-${id}-1`,
      ]),
    );
    // However long ago that was: nobody could requeue or discard it otherwise.
    await admin.database.inTransaction((tx) =>
      execute(tx, 'UPDATE dead_letters SET replayed_at = replayed_at - 172800000 WHERE id = $1', [id]),
    );
    const letters = new RequeuedLetters(
      ...([admin.database, admin.queues, admin.get(DlqAdminConfig)] as const),
      ...([systemClock, silentLogger, new Metrics()] as const),
    );
    await eventually(async () => {
      await letters.follow(-60_000);
      expect(await outbox(`r-${id}-1`)).toMatchObject([{ status: 'PENDING' }]);
    });
    expect((await admin.client.letter(id)).history.at(-1)).toMatchObject({ event: 'redriven again' });
    await admin.database.inTransaction(async (tx) => {
      await execute(tx, "UPDATE outbox SET status = 'PUBLISHED' WHERE id = $1", [`r-${id}-1`]);
      await execute(tx, "UPDATE files SET status = 'batched' WHERE id = 771");
    });
    await letters.follow(-60_000);
    expect(await outbox(`r-${id}-1`)).toMatchObject([{ status: 'PUBLISHED' }]);
  });

  it('whose own job was given up are taken in from the failed set', async () => {
    const queue = admin.queues.getQueue(admin.queues.settings.deadLetterQueue);
    const letter = deadLetter({ queue: 'q-rescue' });
    await queue.pause();
    await queue.add('dead letter', letter, { jobId: 'given-up' });
    const redis = createRedisClient(parseRedisUrl(sharedRedis().url), { role: 'caller', name: 'test' });
    await eventually(() => expect(redis.status).toBe('ready'));
    const key = (name: string): string => queue.toKey(name);
    await redis
      .multi()
      .lrem(key('paused'), 0, 'given-up')
      .lrem(key('wait'), 0, 'given-up')
      .zadd(key('failed'), Date.now(), 'given-up')
      .exec();
    await queue.resume();
    redis.disconnect();
    await eventually(async () => expect((await admin.client.count({ queue: 'q-rescue' })).count).toBe(1));
    await eventually(async () => expect(await queue.getJob('given-up')).toBeUndefined());
  });

  it('that are no dead letters at all are kept as invalid instead of stopping the intake', async () => {
    const dlq = admin.queues.settings.deadLetterQueue;
    await admin.queues.enqueueJobs(dlq, { name: 'junk', parse: (value: unknown) => value } as never, [
      { jobId: 'junk-1', payload: { what: 'ever', __proto__: null } as never },
    ]);
    await eventually(async () =>
      expect((await admin.client.letters({ queue: dlq })).items).toMatchObject([
        { jobId: 'junk-1', reason: 'invalid' },
      ]),
    );
  });

  it('with NUL, lone surrogates, prototype keys and 2,000 levels of nesting are stored and shown', async () => {
    let deep: unknown = 1;
    for (let level = 0; level < 2_000; level++) deep = [deep];
    const strange = deadLetter({
      queue: 'q-strange',
      data: JSON.parse('{"__proto__":{"polluted":true},"nul":"a\\u0000b","half":"\\ud800"}') as unknown,
      errorMessage: 'nul \0 and half \ud800',
    });
    const ids = await take([strange, deadLetter({ queue: 'q-strange', data: { deep } })]);
    expect(ids.length).toBe(2);
    const found = await Promise.all(ids.map((id) => admin.client.letter(id)));
    const odd = found.find(({ jobId }) => jobId === strange.jobId);
    expect(Object.hasOwn(odd?.payload as object, '__proto__')).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(odd?.errorMessage).toBe('nul \u2400 and half \ufffd');
  });

  it('are found by each filter alone, page by page, newest first', async () => {
    const base = Date.now() - 500_000;
    const letters = Array.from({ length: 45 }, (_, index) =>
      deadLetter({
        queue: 'q-find',
        jobName: index % 2 ? 'odd' : 'even',
        errorName: index % 3 ? 'RangeError' : 'TypeError',
        lastWorkerId: `w-${index % 5}`,
        deadLetteredAt: base + index,
        data: {
          n: index,
          tags: [`t${index}`],
          'odd key': index === 7 ? '50%_off\\now' : 'plain',
          flag: index === 3,
        },
      }),
    );
    await take(letters);
    const { items } = await admin.client.letters({ queue: 'q-find' }, { limit: 200 });
    const all = items.map((one) => one.deadLetteredAt - base);
    expect(all).toEqual(Array.from({ length: 45 }, (_, index) => 44 - index));
    const paged: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await admin.client.letters({ queue: 'q-find' }, { limit: 7, cursor });
      paged.push(...page.items.map((one) => one.deadLetteredAt - base));
      cursor = page.next ?? undefined;
    } while (cursor);
    expect(paged).toEqual(all);
    const count = async (filter: object): Promise<number> =>
      (await admin.client.count({ queue: 'q-find', ...filter })).count;
    expect(await count({ name: 'odd' })).toBe(22);
    expect(await count({ error: 'TypeError' })).toBe(15);
    expect(await count({ worker: 'w-1' })).toBe(9);
    expect(await count({ from: base + 10, until: base + 20 })).toBe(10);
    expect(await count({ text: '50%_off' })).toBe(1);
    expect(await count({ text: '50%_OFF\\now' })).toBe(1);
    expect(await count({ text: '50_off' })).toBe(0);
    expect(await count({ payload: { n: '7' } })).toBe(1);
    expect(await count({ payload: { 'tags.0': 't12' } })).toBe(1);
    expect(await count({ payload: { flag: 'true' } })).toBe(1);
    expect(await count({ payload: { n: '7', flag: 'true' } })).toBe(0);
    expect(await count({ status: 'discarded' })).toBe(0);
    expect(
      (await admin.client.letters({ queue: 'q-find', text: '"tags":["t4"]' })).items.map(
        (one) => one.deadLetteredAt - base,
      ),
    ).toEqual([4]);
  });

  it('are counted by group, queue and worker as they come and go', async () => {
    const letters = [
      ...Array.from({ length: 4 }, () =>
        deadLetter({ queue: 'q-g1', errorName: 'GroupError', lastWorkerId: 'w-a' }),
      ),
      ...Array.from({ length: 3 }, () =>
        deadLetter({ queue: 'q-g2', errorName: 'GroupError', lastWorkerId: 'w-b' }),
      ),
    ];
    const ids = await take(letters.slice(0, 4));
    await take(letters.slice(4));
    const { group } = await admin.client.letter(ids[0] ?? 0);
    expect(await admin.client.group(group)).toMatchObject({
      errorName: 'GroupError',
      message: 'cannot read <path> after # ms',
      frame: 'readChunk (apps/batcher/src/reader.js)',
      total: 7,
      open: 7,
      queues: [
        { queue: 'q-g1', total: 4, open: 4 },
        { queue: 'q-g2', total: 3, open: 3 },
      ],
      workers: [
        { worker: 'w-a', total: 4 },
        { worker: 'w-b', total: 3 },
      ],
      recent: [...Array<number>(23).fill(0), 7],
    });
    await admin.client.change(ids[0] ?? 0, 'discard');
    await admin.client.change(ids[1] ?? 0, 'requeue');
    expect(await admin.client.group(group)).toMatchObject({ total: 7, open: 5 });
    const listed = (await admin.client.groups({ limit: 200 })).items;
    expect(listed.map(({ open }) => open)).toEqual([...listed.map(({ open }) => open)].sort((a, b) => b - a));
    const [counted] = await rows<{ n: number }>(
      "SELECT count(*) AS n FROM dead_letters WHERE fingerprint = $1 AND status = 'open'",
      [group],
    );
    expect(counted?.n).toBe(5);
  });
});
