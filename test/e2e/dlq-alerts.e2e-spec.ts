import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execute, queryRows } from '#database';
import { ANY_PAYLOAD } from '#queue-manager';
import { DATABASE_KINDS, eventually } from '#testing';
import { Alerts } from '../../apps/dlq-admin/src/alerts/alerts.service.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

describe.each(DATABASE_KINDS)('alerts and figures on %s', (kind) => {
  let admin: TestDlqAdmin;
  beforeAll(async () => {
    admin = await startDlqAdmin(kind, {
      env: {
        ALERT_RULES: 'depth>3/1,depth@q-b>100/1,rate>1000/1,age>86400/60',
        // Refused before anything is sent: it is a private address.
        ALERT_WEBHOOK_URL: 'https://10.0.0.1/alert',
        ALERT_WEBHOOK_SECRET: 'a secret of sixteen',
      },
    });
  }, 60_000);
  afterAll(() => admin.stop());

  const events = (): Promise<{ eventName: string; payload: string; queue: string }[]> =>
    admin.database.read((manager) =>
      queryRows(
        manager,
        `SELECT event_name AS "eventName", payload, queue FROM outbox WHERE queue = 'dlq-alerts-queue' ORDER BY created_at, id`,
      ),
    );
  const states = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await admin.client.stats()).alerts.map(({ rule, state }) => [rule, state]));

  it('fire once above their level, stay until the resolve level, and tell both through the outbox', async () => {
    const alerts = admin.get(Alerts);
    await alerts.tick();
    expect(await events()).toEqual([]);
    await admin.send([
      ...Array.from({ length: 5 }, () => deadLetter({ queue: 'q-a' })),
      deadLetter({ queue: 'q-b', deadLetteredAt: Date.now() - 2 * 86_400_000 }),
    ]);
    await eventually(async () => expect((await admin.client.stats()).open).toBe(6));
    await alerts.tick();
    await alerts.tick();
    expect(await states()).toEqual({
      'depth>3/1': 'firing',
      'depth@q-b>100/1': 'ok',
      'rate>1000/1': 'ok',
      'age>86400/60': 'firing',
    });
    expect((await events()).map(({ eventName }) => eventName)).toEqual(['alert-firing', 'alert-firing']);

    const letters = (await admin.client.letters({ status: 'open' })).items.map(({ id }) => id);
    for (const id of letters.slice(0, 4)) await admin.client.change(id, 'discard');
    await alerts.tick();
    expect((await states())['depth>3/1']).toBe('firing');
    await admin.client.change(letters[4] ?? 0, 'discard');
    await alerts.tick();
    expect((await states())['depth>3/1']).toBe('ok');
    const told = (await events()).map(
      ({ payload }) => JSON.parse(payload) as { state: string; rule: string; value: number },
    );
    expect(told.filter(({ rule }) => rule === 'depth>3/1')).toMatchObject([
      { state: 'firing', value: 6 },
      { state: 'ok', value: 1 },
    ]);
  });

  it('appear as figures, over time and by queue, and as metrics for a scraper', async () => {
    const stats = await admin.client.stats();
    expect(stats).toMatchObject({ open: 1, discarded: 5, requeued: 0, deadEvents: 0, waiting: 0 });
    expect(stats.queues.map(({ queue, open, total }) => [queue, open, total])).toEqual([
      ['q-b', 1, 1],
      ['q-a', 0, 5],
    ]);
    expect(stats.depth.length).toBeGreaterThan(0);
    const text = await (
      await fetch(`${admin.url}/metrics`, { headers: { authorization: admin.authorization } })
    ).text();
    expect(text).toContain('millrace_dlq_depth{queue="q-a"} 0');
    expect(text).toContain('millrace_dlq_depth{queue="q-b"} 1');
    expect(text).toContain('millrace_dlq_alert_firing{rule="depth>3/1"} 0');
  });

  it('lists dead events and requeues one, with all its attempts', async () => {
    await admin.database.inTransaction((tx) =>
      execute(
        tx,
        `INSERT INTO outbox (id, queue, event_name, payload, status, created_at, available_at, attempts, last_error)
         VALUES ('dead-1', 'q-a', 'something', '{"token":"abc","n":1}', 'DEAD', 1, 1, 9, 'refused')`,
      ),
    );
    expect((await admin.client.deadEvents()).items).toMatchObject([
      { id: 'dead-1', attempts: 9, lastError: 'refused', payload: { token: '[redacted]', n: 1 } },
    ]);
    expect(await admin.client.requeueEvent('dead-1')).toEqual({ id: 'dead-1', revived: true });
    await expect(admin.client.requeueEvent('dead-1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await admin.client.deadEvents()).items).toEqual([]);
    expect(
      (await admin.client.audit()).items.slice(0, 2).map(({ action, result }) => [action, result]),
    ).toEqual([
      ['event.revive', 'refused'],
      ['event.revive', 'ok'],
    ]);
  });

  it('are taken from their queue to the webhook: one that may not be called is a dead letter', async () => {
    const payload = { rule: 'depth>3/1', state: 'firing' };
    await admin.queues.enqueueJobs('dlq-alerts-queue', ANY_PAYLOAD, [{ payload, jobId: 'alert-1' }]);
    await eventually(async () => {
      const { items } = await admin.client.letters({ queue: 'dlq-alerts-queue' });
      expect(items).toMatchObject([
        { jobId: 'alert-1', errorMessage: expect.stringContaining('ALERT_WEBHOOK_URL') },
      ]);
    });
  });
});
