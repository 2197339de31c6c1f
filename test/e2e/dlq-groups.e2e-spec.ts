import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DeadLetter } from '#contracts';
import type { Group } from '#dlq-client';
import { DATABASE_KINDS, eventually } from '#testing';
import { Alerts } from '../../apps/dlq-admin/src/alerts/alerts.service.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

describe.each(DATABASE_KINDS)('groups that people tend, on %s', (kind) => {
  let admin: TestDlqAdmin;
  beforeAll(async () => {
    admin = await startDlqAdmin(kind, { env: { ALERT_RULES: 'depth>2/1' } });
  }, 60_000);
  afterAll(() => admin.stop());

  /** Letters of one error name, taken in. */
  async function fail(errorName: string, letters: readonly Partial<DeadLetter>[]): Promise<void> {
    const before = (await admin.client.count({ error: errorName })).count;
    await admin.send(letters.map((one) => deadLetter({ errorName, errorMessage: 'no', ...one })));
    await eventually(async () =>
      expect((await admin.client.count({ error: errorName })).count).toBe(before + letters.length),
    );
  }
  async function groupsOf(errorName: string): Promise<Group[]> {
    const { items } = await admin.client.groups({ status: 'any', limit: 200 });
    return items
      .filter((group) => group.errorName === errorName)
      .sort((a, b) => (a.message < b.message ? -1 : 1));
  }
  async function only(errorName: string): Promise<Group> {
    const groups = await groupsOf(errorName);
    expect(groups).toHaveLength(1);
    return groups[0]!;
  }

  it('are labelled by their newest message, above what all messages have in common', async () => {
    await fail('LabelError', [{ errorMessage: 'cannot open /a/b/1.txt after 12 ms', deadLetteredAt: 1_000 }]);
    await fail('LabelError', [{ errorMessage: 'cannot open /a/b/2.txt after 99 ms', deadLetteredAt: 2_000 }]);
    expect(await only('LabelError')).toMatchObject({
      message: 'cannot open <path> after # ms',
      newest: 'cannot open /a/b/2.txt after 99 ms',
    });
  });

  it('tell how many letters came in each hour of the last day', async () => {
    const now = Date.now();
    await fail('HourError', [{ deadLetteredAt: now }, { deadLetteredAt: now - 3 * 3_600_000 }]);
    await fail('HourError', [
      { deadLetteredAt: now - 3 * 3_600_000 },
      { deadLetteredAt: now - 30 * 3_600_000 },
    ]);
    const { recent } = await only('HourError');
    expect(recent).toHaveLength(24);
    expect(recent.filter((n) => n > 0)).toEqual([2, 1]);
  });

  it('carry a note and an owner, which the audit log knows of', async () => {
    await fail('NoteError', [{}]);
    const { id } = await only('NoteError');
    expect(await admin.client.changeGroup(id, { note: 'disk of host 3', owner: 'ada' })).toMatchObject({
      ...{ note: 'disk of host 3', owner: 'ada', mutedUntil: null },
    });
    expect(await admin.client.changeGroup(id, { owner: null })).toMatchObject({
      ...{ note: 'disk of host 3', owner: null },
    });
    const { items } = await admin.client.audit({ target: `group:${id}` });
    expect(items.map(({ action, result }) => [action, result])).toEqual([
      ['group.change', 'ok'],
      ['group.change', 'ok'],
    ]);
    const { client } = await admin.withKey({ role: 'operator', queues: ['nowhere'] });
    await expect(client.changeGroup(id, { note: '' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('that are muted raise no alert until the mute ends; an alert says what it is about and who cares', async () => {
    const tick = async () => {
      await admin.get(Alerts).tick();
      return (await admin.client.stats()).alerts[0]!;
    };
    const { open } = await admin.client.stats();
    expect(await tick()).toMatchObject({
      state: 'firing',
      words: `${open} open letters: over 2; clears at 1`,
    });
    const acknowledged = await admin.client.acknowledge('depth>2/1');
    expect(acknowledged.acknowledgedBy).toMatch(/^ADMIN_KEY/);
    expect(await tick()).toMatchObject({ state: 'firing', acknowledgedBy: acknowledged.acknowledgedBy });

    const { items } = await admin.client.groups();
    for (const { id } of items) await admin.client.changeGroup(id, { mutedUntil: Date.now() + 60_000 });
    expect(await tick()).toMatchObject({ state: 'ok', value: 0, acknowledgedBy: null });
    await expect(admin.client.acknowledge('depth>2/1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    for (const { id } of items) await admin.client.changeGroup(id, { mutedUntil: null });
    expect(await tick()).toMatchObject({ state: 'firing', value: open, acknowledgedBy: null });
    const forEver = admin.client.changeGroup(items[0]!.id, { mutedUntil: Date.now() + 400 * 86_400_000 });
    await expect(forEver).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('are split by a field: letters, counts, and letters to come go to the group of their value', async () => {
    await fail('SplitError', [{ queue: 'a' }, { queue: 'a' }, { queue: 'b' }]);
    const whole = await only('SplitError');
    const { items } = await admin.client.splitGroup(whole.id, 'queue');
    expect(items).toHaveLength(2);
    await fail('SplitError', [{ queue: 'b' }, { queue: 'c' }]);
    expect((await groupsOf('SplitError')).map(({ message, total, open }) => [message, total, open])).toEqual([
      ['no [queue = a]', 2, 2],
      ['no [queue = b]', 2, 2],
      ['no [queue = c]', 1, 1],
    ]);
    expect(await admin.client.group(whole.id)).toMatchObject({ total: 0, open: 0, splitBy: 'queue' });
    for (const { id, total, queues, recent } of await groupsOf('SplitError')) {
      expect((await admin.client.count({ group: id })).count).toBe(total);
      expect(queues).toHaveLength(1);
      expect(recent.at(-1)).toBe(total);
    }
  });

  it('are split by what payloads hold without telling it to those who may not see payloads', async () => {
    await fail('FieldError', [{ data: { user: { id: 7 } } }, { data: { user: { id: 8 } } }, { data: {} }]);
    const { items } = await admin.client.splitGroup((await only('FieldError')).id, 'payload.user.id');
    expect(items.map(({ total }) => total)).toEqual([1, 1, 1]);
    for (const { message } of items) expect(message).toMatch(/^no \[payload\.user\.id #[0-9a-f]{4}\]$/);
  });

  it('are not split where there is one value, or too many', async () => {
    await fail(
      'WholeError',
      Array.from({ length: 51 }, (_, n) => ({ queue: 'a', data: { n } })),
    );
    const { id } = await only('WholeError');
    await expect(admin.client.splitGroup(id, 'queue')).rejects.toMatchObject({ code: 'ONE_PART' });
    await expect(admin.client.splitGroup(id, 'payload.n')).rejects.toMatchObject({ code: 'TOO_MANY_PARTS' });
    await expect(admin.client.splitGroup(id, 'stack')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await only('WholeError')).toMatchObject({ total: 51, splitBy: null });
  });

  it('are merged: letters, counts, and letters to come are of the other, and a merge back ends it', async () => {
    await fail('MergeError', [{ errorMessage: 'one', deadLetteredAt: 5_000 }, { errorMessage: 'one' }]);
    await fail('MergeError', [{ errorMessage: 'two' }]);
    const [one, two] = (await groupsOf('MergeError')) as [Group, Group];
    const [letter] = (await admin.client.letters({ group: one.id })).items;
    await admin.client.change(letter!.id, 'discard');
    expect(await admin.client.mergeGroup(one.id, two.id)).toMatchObject({
      ...{ id: two.id, total: 3, open: 2, firstSeenAt: 5_000 },
    });
    await fail('MergeError', [{ errorMessage: 'one' }]);
    expect(await only('MergeError')).toMatchObject({ id: two.id, total: 4, open: 3, newest: 'one' });
    expect(await admin.client.group(one.id)).toMatchObject({ total: 0, mergedInto: two.id });

    await admin.client.mergeGroup(two.id, one.id);
    await fail('MergeError', [{ errorMessage: 'two' }, { errorMessage: 'one' }]);
    expect(await only('MergeError')).toMatchObject({ id: one.id, total: 6, mergedInto: null });
    await expect(admin.client.mergeGroup(one.id, one.id)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await expect(admin.client.mergeGroup(one.id, 'nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('that were split are whole again when their parts are merged into them', async () => {
    await fail('WholeAgainError', [{ queue: 'a' }, { queue: 'b' }]);
    const { id } = await only('WholeAgainError');
    const { items } = await admin.client.splitGroup(id, 'queue');
    for (const part of items) await admin.client.mergeGroup(part.id, id);
    await fail('WholeAgainError', [{ queue: 'a' }, { queue: 'c' }]);
    expect(await only('WholeAgainError')).toMatchObject({ id, total: 4, open: 4, splitBy: null });
    await admin.client.splitGroup(id, 'queue');
    expect((await groupsOf('WholeAgainError')).map(({ total }) => total)).toEqual([2, 1, 1]);
  });
});
