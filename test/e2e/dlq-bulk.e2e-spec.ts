import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { queryRows } from '#database';
import { DlqProblemError, type BulkAction } from '#dlq-client';
import { ANY_PAYLOAD } from '#queue-manager';
import { DATABASE_KINDS, eventually } from '#testing';
import { BulkRunner } from '../../apps/dlq-admin/src/bulk/bulk-runner.service.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no error',
    (error: unknown) => (error instanceof DlqProblemError ? error.code : String(error)),
  );

describe.each(DATABASE_KINDS)('bulk actions on %s', (kind) => {
  let admin: TestDlqAdmin;
  beforeAll(async () => {
    admin = await startDlqAdmin(kind, { env: { MAX_BULK_LETTERS: '900' } });
  }, 60_000);
  afterAll(() => admin.stop());

  const rows = <T extends object>(sql: string, params: unknown[] = []): Promise<T[]> =>
    admin.database.read((manager) => queryRows<T>(manager, sql, params));
  const fill = async (queue: string, size: number, errorName = 'BulkError'): Promise<void> => {
    await admin.send(Array.from({ length: size }, () => deadLetter({ queue, errorName })));
    await eventually(async () => expect((await admin.client.count({ queue })).count).toBe(size));
  };
  const ended = (id: string): Promise<BulkAction> =>
    eventually(async () => {
      const action = await admin.client.bulkAction(id);
      expect(action.status).not.toMatch(/frozen|running/);
      return action;
    });

  it('show what they would do, and run only with the receipt of that', async () => {
    await fill('b-receipt', 30);
    const filter = { queue: 'b-receipt', status: 'open' as const };
    expect(await codeOf(admin.client.startBulk({ kind: 'discard', filter }))).toBe('CONFIRM');
    const shown = await admin.client.preview({ kind: 'discard', filter });
    // What receipts are signed with is kept for every replica, also when it was made for a request that was refused.
    expect(await rows("SELECT name FROM shared_secrets WHERE name = 'bulk-confirm'")).toHaveLength(1);
    expect(shown).toMatchObject({
      total: 30,
      eligible: 30,
      skipped: [],
      reasons: [{ errorName: 'BulkError', count: 30 }],
    });
    expect(await admin.client.count(filter)).toEqual({ count: 30, exact: true });
    expect(await codeOf(admin.client.startBulk({ kind: 'requeue', filter, confirm: shown.confirm }))).toBe(
      'CONFIRM',
    );
    await admin.send([deadLetter({ queue: 'b-receipt' })]);
    await eventually(async () => expect((await admin.client.count(filter)).count).toBe(31));
    const { id } = await admin.client.startBulk({ kind: 'discard', filter, confirm: shown.confirm });
    expect(await ended(id)).toMatchObject({ status: 'completed', total: 30, done: 30, skipped: 0 });
    expect(await admin.client.count(filter)).toEqual({ count: 1, exact: true });
  });

  it('requeue every letter once and pass over what cannot be requeued, with the reason', async () => {
    await fill('b-skip', 5);
    await admin.send([deadLetter({ queue: 'b-skip', data: { password: 'geheim' } })]);
    await eventually(async () => expect((await admin.client.count({ queue: 'b-skip' })).count).toBe(6));
    const ids = (await admin.client.letters({ queue: 'b-skip' })).items.map((one) => one.id);
    await admin.client.change(ids[5] ?? 0, 'discard');
    const action = await admin.client.startBulk({ kind: 'requeue', ids: [...ids, 99_999_999] });
    const done = await ended(action.id);
    expect(done).toMatchObject({ status: 'completed', total: 7, done: 4, skipped: 3 });
    expect(done.skippedReasons.map(({ reason }) => reason).sort()).toEqual([
      'gone',
      'not-open',
      'redacted-payload',
    ]);
    expect(await rows("SELECT id FROM outbox WHERE queue = 'b-skip'")).toHaveLength(4);
  });

  it('select at most MAX_BULK_LETTERS, also by their ids', async () => {
    const ids = Array.from({ length: 901 }, (_, index) => 9_000_000 + index);
    expect(await codeOf(admin.client.startBulk({ kind: 'discard', ids }))).toBe('TOO_MANY');
    expect(await codeOf(admin.client.startBulk({ kind: 'discard', ids: ids.slice(1) }))).toBe('no error');
  });

  it('keep to their rate and stop at once when aborted, with the rest untouched', async () => {
    await fill('b-abort', 40);
    const filter = { queue: 'b-abort', status: 'open' as const };
    const { confirm } = await admin.client.preview({ kind: 'requeue', filter });
    const { id } = await admin.client.startBulk({ kind: 'requeue', filter, confirm, ratePerSecond: 2 });
    await eventually(async () => expect((await admin.client.bulkAction(id)).done).toBeGreaterThan(0));
    const aborted = await admin.client.abort(id);
    expect(aborted.status).toBe('aborted');
    expect(aborted.done).toBeLessThan(40);
    await admin.get(BulkRunner).tick();
    const after = await admin.client.bulkAction(id);
    expect(after.done).toBe(aborted.done);
    expect(
      await rows("SELECT id FROM dead_letters WHERE queue = 'b-abort' AND status = 'requeued'"),
    ).toHaveLength(after.done);
    expect(await rows("SELECT id FROM outbox WHERE queue = 'b-abort'")).toHaveLength(after.done);
    expect(await codeOf(admin.client.abort(id))).toBe('ENDED');
  });

  it('as a canary go on while what was requeued succeeds, and stop when it fails again', async () => {
    await fill('b-canary', 12, 'CanaryError');
    const broken = new Set<number>();
    const worker = admin.queues.createWorker('b-canary', ANY_PAYLOAD, async (payload) => {
      if (broken.has((payload as { n: number }).n)) throw new Error('still broken');
    });
    await worker.start();
    const publish = publisher(admin);
    const filter = { queue: 'b-canary', status: 'open' as const };
    const letters = (await admin.client.letters(filter)).items.reverse();
    const bad = await admin.client.letter(letters[5]?.id ?? 0);
    broken.add((bad.payload as { n: number }).n);
    const { confirm } = await admin.client.preview({ kind: 'requeue', filter });
    const { id } = await admin.client.startBulk({
      kind: 'requeue',
      filter,
      confirm,
      canary: { steps: [1, 2, 4] },
    });
    const stopped = await ended(id);
    publish.stop();
    await worker.stop();
    expect(stopped).toMatchObject({
      status: 'stopped',
      done: 7,
      skipped: 0,
      failedAgain: 1,
      waiting: 5,
      total: 12,
    });
    expect(stopped.reason).toContain('failed again');
    // The list says the same as the action itself.
    expect((await admin.client.bulkActions()).items.find((one) => one.id === id)).toMatchObject({
      failedAgain: 1,
      waiting: 5,
    });
    expect(await admin.client.count(filter)).toEqual({ count: 6, exact: true });
    expect(await admin.client.count({ action: id })).toEqual({ count: 12, exact: true });
    expect(await admin.client.count({ action: id, status: 'open' })).toEqual({ count: 6, exact: true });
    const rest = await admin.client.continueBulk(id, 'the rest is fine');
    expect(rest).toMatchObject({
      kind: 'requeue',
      total: 5,
      canary: { steps: [1, 2, 4], step: 0 },
      selection: { restOf: id },
    });
    await admin.client.abort(rest.id).catch(() => {});
    for (const [action, code] of [
      [(await admin.client.startBulk({ kind: 'discard', ids: [bad.id] })).id, 'NOT_STOPPED'],
      [randomUUID(), 'NOT_FOUND'],
    ] as const)
      await expect(admin.client.continueBulk(action)).rejects.toMatchObject({ code });
    expect((await admin.client.letter(bad.id)).history.slice(0, 3).map(({ event }) => event)).toEqual([
      'dead-lettered',
      'requeued',
      'reopened',
    ]);
  }, 60_000);

  it('are repeated without a second effect under the same Idempotency-Key, and refused for another request', async () => {
    await fill('b-idem', 3);
    const ids = (await admin.client.letters({ queue: 'b-idem' })).items.map((one) => one.id);
    const send = (body: object): Promise<Response> =>
      fetch(`${admin.url}/api/v1/bulk-actions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: admin.authorization,
          'idempotency-key': 'same-key-1',
        },
        body: JSON.stringify(body),
      });
    const replies = await Promise.all([send({ kind: 'discard', ids }), send({ kind: 'discard', ids })]);
    const [a, b] = (await Promise.all(replies.map((reply) => reply.json()))) as { id: string }[];
    expect(a?.id).toBe(b?.id);
    expect((await send({ kind: 'restore', ids })).status).toBe(409);
    expect(
      await rows('SELECT id FROM audit_log WHERE target = $1 AND action = $2', [
        `bulk:${a?.id}`,
        'bulk.discard',
      ]),
    ).toHaveLength(1);
  });
});

/** Stands in for the outbox-publisher: moves pending events of the outbox into their queues. */
function publisher(admin: TestDlqAdmin): { stop: () => void } {
  let stopped = false;
  const move = async (): Promise<void> => {
    while (!stopped) {
      const events = await admin.database.read((manager) =>
        queryRows<{ id: string; queue: string; payload: string }>(
          manager,
          "SELECT id, queue, payload FROM outbox WHERE status = 'PENDING' AND queue = 'b-canary'",
        ),
      );
      for (const { id, queue, payload } of events) {
        await admin.queues.enqueueJob(queue, ANY_PAYLOAD, JSON.parse(payload), {
          jobId: `e-${id}`,
          attempts: 1,
        });
        await admin.database.inTransaction((tx) =>
          queryRows(tx, "UPDATE outbox SET status = 'PUBLISHED' WHERE id = $1 RETURNING id", [id]),
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  void move();
  return { stop: () => (stopped = true) };
}
