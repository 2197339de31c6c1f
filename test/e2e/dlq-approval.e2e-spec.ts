import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execute } from '#database';
import type { BulkAction, DlqClient } from '#dlq-client';
import { DATABASE_KINDS, eventually } from '#testing';
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { BulkRunner } from '../../apps/dlq-admin/src/bulk/bulk-runner.service.js';
import { CliHost } from './cli-host.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

const env = { DISCARD_APPROVAL_ABOVE: '5' };
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no error',
    (error: Error & { code?: string }) => error.code ?? error.message,
  );

describe.each(DATABASE_KINDS)('discards that need a second person, on %s', (kind) => {
  let admin: TestDlqAdmin;
  let ada: DlqClient;
  let bob: DlqClient;
  beforeAll(async () => {
    admin = await startDlqAdmin(kind, { env });
    ada = (await admin.withKey({ name: 'ada', role: 'operator' })).client;
    bob = (await admin.withKey({ name: 'bob', role: 'operator' })).client;
  }, 60_000);
  afterAll(() => admin.stop());

  const fill = async (queue: string, size: number): Promise<void> => {
    await admin.send(Array.from({ length: size }, () => deadLetter({ queue })));
    await eventually(async () => expect((await admin.client.count({ queue })).count).toBe(size));
  };
  const discard = async (queue: string, by = ada): Promise<BulkAction> => {
    const filter = { queue, status: 'open' as const };
    const { confirm } = await by.preview({ kind: 'discard', filter });
    return by.startBulk({ kind: 'discard', filter, confirm });
  };
  const open = async (queue: string): Promise<number> =>
    (await admin.client.count({ queue, status: 'open' })).count;
  const ended = (id: string): Promise<BulkAction> =>
    eventually(async () => {
      const action = await admin.client.bulkAction(id);
      expect(action.status).not.toMatch(/pending|frozen|running/);
      return action;
    });
  const audited = async (action: string): Promise<unknown[]> =>
    (await admin.client.audit()).items
      .filter((entry) => entry.action === action)
      .map(({ actor, result }) => [actor.split(' ')[0], result]);

  it('wait, and run when another key has approved them, never the one that asked', async () => {
    await fill('a-large', 6);
    const action = await discard('a-large');
    expect(action).toMatchObject({ status: 'pending', total: 6, done: 0, approvedBy: null });
    expect(action.approveBefore).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    await admin.get(BulkRunner).tick();
    expect(await open('a-large')).toBe(6);
    expect(await codeOf(ada.approve(action.id))).toBe('SAME_KEY');
    const later = await admin.withKey({ name: 'made for this', role: 'admin' });
    expect(await codeOf(later.client.approve(action.id))).toBe('NEW_KEY');
    const viewer = await admin.withKey({ role: 'viewer' });
    expect(await codeOf(viewer.client.approve(action.id))).toBe('ROLE');
    expect(await open('a-large')).toBe(6);
    expect((await bob.approve(action.id, 'looked at them')).approvedBy).toMatch(/^bob /);
    expect(await ended(action.id)).toMatchObject({ status: 'completed', done: 6 });
    expect(await open('a-large')).toBe(0);
    expect(await codeOf(bob.approve(action.id))).toBe('NOT_PENDING');
    expect(await audited('bulk.approve')).toEqual(
      expect.arrayContaining([
        ['bob', 'ok'],
        ['ada', 'refused'],
        ['made', 'refused'],
      ]),
    );
  });

  it('are not approved by a key that replaces the one that asked, nor by one without a right to their queues', async () => {
    await fill('a-heirs', 6);
    const first = await admin.withKey({ name: 'first', role: 'operator' });
    const heir = await admin.withKey({ name: 'heir', role: 'operator', replaces: first.id });
    const elsewhere = await admin.withKey({ name: 'elsewhere', role: 'operator', queues: ['a-other'] });
    const action = await discard('a-heirs', first.client);
    expect(await codeOf(heir.client.approve(action.id))).toBe('SAME_KEY');
    expect(await codeOf(elsewhere.client.approve(action.id))).toBe('NOT_FOUND');
    expect((await bob.abort(action.id)).status).toBe('aborted');
    expect(await codeOf(bob.approve(action.id))).toBe('NOT_PENDING');
    expect(await open('a-heirs')).toBe(6);
  });

  it('end when nobody approves them in time', async () => {
    await fill('a-late', 6);
    const action = await discard('a-late');
    await admin.database.inTransaction((tx) =>
      execute(tx, 'UPDATE bulk_actions SET approve_before = 1 WHERE id = $1', [action.id]),
    );
    expect(await codeOf(bob.approve(action.id))).toBe('NOT_PENDING');
    expect(await ended(action.id)).toMatchObject({ status: 'stopped', reason: 'not approved in time' });
    expect(await audited('bulk.stopped')).toEqual([['system', 'ok']]);
    expect(await open('a-late')).toBe(6);
  });

  it('wait in the database: another process shows, approves and runs them', async () => {
    await fill('a-restart', 6);
    const action = await discard('a-restart');
    await admin.get(BulkRunner).stop();
    const other = await startDlqAdmin(kind, {
      env: {
        ...env,
        DATABASE_URL: admin.databaseUrl,
        ADMIN_KEY: admin.authorization.slice('Bearer '.length),
      },
    });
    try {
      expect(await other.client.bulkAction(action.id)).toMatchObject({ status: 'pending' });
      expect((await other.client.approve(action.id)).status).toMatch(/frozen|running|completed/);
      await eventually(async () =>
        expect(await other.client.bulkAction(action.id)).toMatchObject({ status: 'completed', done: 6 }),
      );
    } finally {
      await other.stop();
      await admin.get(BulkRunner).start();
    }
  });

  it('are only the large ones, and neither a requeue nor a restore', async () => {
    await fill('a-small', 5);
    expect(await ended((await discard('a-small')).id)).toMatchObject({ status: 'completed', done: 5 });
    const filter = { queue: 'a-heirs', status: 'open' as const };
    const { confirm } = await ada.preview({ kind: 'requeue', filter });
    expect((await ended((await ada.startBulk({ kind: 'requeue', filter, confirm })).id)).done).toBe(6);
  });
});

describe('a discard that waits', () => {
  it('is approved on the page and by the command line', async () => {
    const admin = await startDlqAdmin('sqlite', { env });
    const { client: ada, key: adasKey } = await admin.withKey({ name: 'ada', role: 'operator' });
    const { key } = await admin.withKey({ name: 'bob', role: 'operator' });
    await admin.send(Array.from({ length: 12 }, () => deadLetter({ queue: 'a-page' })));
    await eventually(async () => expect((await ada.count()).count).toBe(12));
    const ids = (await ada.letters()).items.map(({ id }) => id);
    const [first, second] = [
      await ada.startBulk({ kind: 'discard', ids: ids.slice(0, 6) }),
      await ada.startBulk({ kind: 'discard', ids: ids.slice(6) }),
    ];
    const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
      (path) => existsSync(path),
    );
    const browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    });
    const host = new CliHost();
    try {
      const page = await browser.newPage();
      await page.goto(`${admin.url}/bulk/${first.id}`);
      await page.fill('#key', key);
      await page.click('.login button');
      await page.waitForSelector('text=Waits for a second person');
      await page.click('button:has-text("Approve")');
      await page.click('dialog button.danger');
      await page.waitForSelector('.chip.completed');
      const approve = (as: string): Promise<{ code: number | null; stdout: string; stderr: string }> =>
        host.run(['dlq', 'approve', second.id, '-o', 'json'], {
          MILLRACE_DLQ_ADMIN_URL: admin.url,
          MILLRACE_DLQ_API_KEY: as,
        });
      expect((await approve(adasKey)).stderr).toMatch(/whoever asked/);
      expect(JSON.parse((await approve(key)).stdout)).toMatchObject({
        approvedBy: expect.stringMatching(/^bob/),
      });
      await eventually(async () => expect((await ada.count({ status: 'discarded' })).count).toBe(12));
    } finally {
      await browser.close();
      await host.stop();
      await admin.stop();
    }
  }, 60_000);
});
