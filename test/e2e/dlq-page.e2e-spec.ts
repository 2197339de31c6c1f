import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { ANY_PAYLOAD } from '#queue-manager';
import { eventually } from '#testing';
import { cutOff, launchBrowser, unreadable } from './browser.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

const HOSTILE = [
  '<script>window.__ran = 1</script>',
  '<img src=x onerror="window.__ran = 1">',
  '"><svg onload=window.__ran=1>',
  'javascript:window.__ran=1',
  '</script><script>window.__ran=1</script>',
  '{{constructor.constructor("window.__ran=1")()}}',
  '\u202eevil\u202c \u001b[31mred\u001b[0m \u0007bell',
];

describe('the page of dlq-admin', () => {
  let admin: TestDlqAdmin;
  let browser: Browser;
  let key = '';
  const complaints: string[] = [];

  beforeAll(async () => {
    admin = await startDlqAdmin('sqlite');
    browser = await launchBrowser();
    let nested: unknown = 'bottom';
    for (let level = 0; level < 300; level++) nested = { down: nested };
    await admin.send([
      ...HOSTILE.map((text, index) =>
        deadLetter({
          queue: index === 0 ? text : 'hostile',
          jobId: `job ${text}`,
          jobName: text,
          errorName: text.slice(0, 200),
          errorMessage: text,
          stack: `${text}\n    at ${text} (/app/apps/x/src/${text}.js:1:1)`,
          lastWorkerId: text,
          data: { [text]: text, __html: text, href: text, nested: [text] },
          attempts: [{ attempt: 1, error: text }],
        }),
      ),
      deadLetter({
        queue: 'large',
        data: { text: 'x'.repeat(1_000_000), nested, half: '\ud800' },
        errorName: 'LargeError',
      }),
      ...Array.from({ length: 20 }, () =>
        deadLetter({
          queue: 'plain',
          errorName: 'PlainError',
          errorMessage: 'plain failure',
          data: { color: 'blue' },
        }),
      ),
    ]);
    await eventually(async () => expect((await admin.client.count()).count).toBe(HOSTILE.length + 21));
    key = (await admin.withKey({ name: 'ada', role: 'operator' })).key;
  }, 90_000);
  afterAll(async () => {
    await browser.close();
    await admin.stop();
  });

  const visit = async (as = key): Promise<Page> => {
    const context = await browser.newContext({ viewport: { width: 1_200, height: 800 } });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on('console', (message) => {
      if (message.type() === 'error' && !/401|Failed to load resource/.test(message.text()))
        complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(admin.url);
    await page.fill('#key', as);
    await page.click('.login button');
    await page.waitForSelector('.way');
    return page;
  };
  const ran = (page: Page): Promise<unknown> => page.evaluate('window.__ran');

  it('shows hostile payloads, stacks, names and ids as text: nothing runs, and the policy has nothing to report', async () => {
    const page = await visit();
    const { items } = await admin.client.letters({}, { limit: 200 });
    expect(items).toHaveLength(HOSTILE.length + 21);
    const odd = items.filter(({ queue }) => queue !== 'plain');
    for (const address of ['/', '/groups', '/letters', '/audit', '/bulk', '/events']) {
      await page.goto(admin.url + address);
      await page.waitForSelector('.view h1');
      expect(await ran(page)).toBeUndefined();
    }
    for (const { id, group } of odd) {
      await page.goto(`${admin.url}/letters/${id}`);
      await page.waitForSelector('.tree');
      expect(await ran(page)).toBeUndefined();
      await page.goto(`${admin.url}/groups/${group}`);
      await page.waitForSelector('.message-line');
      expect(await ran(page)).toBeUndefined();
    }
    expect(await page.locator('main img, main script, main iframe, main a[href^="javascript"]').count()).toBe(
      0,
    );
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 120_000);

  it('signs in once by a link, keeps its token through a reload and for a new tab, and saves a payload', async () => {
    const { code } = await admin.client.signInCode();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${admin.url}/letters#code=${code}`);
    await page.waitForSelector('.view h1');
    expect(new URL(page.url()).hash).toBe('');
    await page.reload();
    await page.waitForSelector('.view h1');
    const second = await context.newPage();
    const letter = (await admin.client.letters({ queue: 'plain' })).items[0]?.id ?? 0;
    await second.goto(`${admin.url}/letters/${letter}`);
    const saving = second.waitForEvent('download');
    await second.click('button:has-text("Download")');
    expect((await saving).suggestedFilename()).toBe(`letter-${letter}.json`);
    const third = await (await browser.newContext()).newPage();
    await third.goto(`${admin.url}/letters#code=${code}`);
    await third.waitForSelector('.login');
  });

  it('signs a new tab in by an answer of another that comes late', async () => {
    const { code } = await admin.client.signInCode();
    const context = await browser.newContext();
    const first = await context.newPage();
    await first.goto(`${admin.url}/letters#code=${code}`);
    await first.waitForSelector('.view h1');
    await first.evaluate(`{
      const { postMessage } = BroadcastChannel.prototype;
      BroadcastChannel.prototype.postMessage = function (...message) {
        globalThis.answer = () => postMessage.apply(this, message);
      };
    }`);
    const second = await context.newPage();
    await second.goto(`${admin.url}/letters`);
    await second.waitForSelector('.login');
    await first.evaluate('answer()');
    await second.waitForSelector('.view h1');
    await context.close();
  });

  it('finds, inspects, edits, requeues and discards, by keyboard too, and keeps the filter in the address', async () => {
    const page = await visit();
    await page.keyboard.press('/');
    await page.waitForSelector('#f-text');
    await page.fill('#f-text', 'plain failure');
    expect(await page.inputValue('#f-status')).toBe('open');
    await page.keyboard.press('Enter');
    await page.waitForURL(/text=plain\+failure/);
    await page.waitForSelector('tr[data-id]');
    expect(await page.locator('tr[data-id]').count()).toBe(20);
    await page.reload();
    await page.waitForSelector('tr[data-id]');
    expect(await page.inputValue('#f-text')).toBe('plain failure');

    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(/letters\/\d+/);
    await page.waitForSelector('.stack');
    expect(await page.textContent('.stack')).toContain('readChunk');
    expect(await page.textContent('.stack')).not.toContain('node_modules');
    await page.check('text=show 2 frames');
    expect(await page.textContent('.stack')).toContain('node_modules');

    await page.keyboard.press('e');
    await page.waitForSelector('textarea');
    await page.fill('textarea', '{ "color": ');
    await page.waitForSelector('text=Not JSON');
    await page.fill('textarea', '{ "color": "green" }');
    await page.waitForSelector('.diff .added');
    expect(await page.textContent('.diff .removed')).toContain('blue');
    await page.click('button:has-text("Save")');
    await page.waitForSelector('.tree .value:has-text("green")');

    await page.keyboard.press('r');
    await page.waitForSelector('dialog');
    await page.fill('#note', 'works now');
    await page.click('dialog button.primary');
    await page.waitForSelector('h1 .chip.requeued');
    expect(await page.textContent('.timeline >> nth=1')).toContain('works now');

    await page.goto(`${admin.url}/letters?status=open&queue=plain`);
    await page.waitForSelector('tr[data-id]');
    await page.keyboard.press('j');
    await page.keyboard.press('d');
    await page.click('dialog button.danger');
    await eventually(async () => expect(await page.locator('tr[data-id]').count()).toBe(18));
    await page.keyboard.press('?');
    await page.waitForSelector('dialog >> text=requeue');
    await page.context().close();
  }, 120_000);

  it('requeues a group after a dry run, shows the progress, and aborts on request', async () => {
    const page = await visit();
    await page.click('a.row-link:has-text("PlainError")');
    await page.waitForSelector('.message-line');
    await page.click('button:has-text("Requeue")');
    await page.waitForSelector('dialog .big');
    expect(await page.textContent('dialog .big')).toContain('18');
    await page.uncheck('#canary');
    await page.fill('#rate', '1');
    await page.click('dialog button.primary:not([disabled])');
    await page.waitForURL(/\/bulk\//);
    await page.waitForSelector('progress');
    await page.click('button:has-text("Abort")');
    await page.click('dialog button.danger');
    await page.waitForSelector('h1 .chip.aborted');
    // The tiles add up, and the rest can be gone on with.
    const figures = (await page.locator('.tile .figure').allTextContents()).map(Number);
    expect(figures.reduce((sum, figure) => sum + figure, 0)).toBe(18);
    await page.click('a:has-text("All its letters")');
    await eventually(async () => expect(await page.locator('tr[data-id]').count()).toBe(18));
    await page.goBack();
    await page.click('button:has-text("Go on with the rest")');
    await page.waitForSelector(`h1:has-text("Requeue ${figures.at(-1)} letter")`);
    await page.click('button:has-text("Abort")');
    await page.click('dialog button.danger');
    await page.waitForSelector('h1 .chip.aborted');
    await page.goto(`${admin.url}/audit`);
    await page.waitForSelector('table.list');
    expect(await page.textContent('table.list')).toContain('bulk.abort');
    await page.context().close();
  }, 120_000);

  it('says that dlq-admin does not answer, loses nothing of what it shows, and goes on by itself', async () => {
    const page = await visit();
    await page.goto(`${admin.url}/letters?queue=away`);
    await page.waitForSelector('text=No dead letters match');
    await page.context().setOffline(true);
    await page.waitForSelector('.silence');
    expect(await page.textContent('.view')).toContain('No dead letters match');
    await admin.send([deadLetter({ queue: 'away' })]);
    await eventually(async () => expect((await admin.client.count({ queue: 'away' })).count).toBe(1));
    await page.context().setOffline(false);
    await page.waitForSelector('tr[data-id]');
    await page.waitForSelector('.silence', { state: 'detached' });
    await page.context().close();
  }, 90_000);

  it('paints its frame before anybody has answered, and the way in when nobody is signed in', async () => {
    const page = await (await browser.newContext()).newPage();
    let answer = (): void => {};
    const asked = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/api/v1/session', async (route) => {
      await asked;
      await route.continue();
    });
    await page.goto(admin.url);
    await page.waitForSelector('.bar nav a >> text=Letters');
    await page.waitForSelector('main >> text=Loading');
    answer();
    await page.waitForSelector('.login');
    await page.context().close();
  }, 60_000);

  it('asks before an edit that is not saved is left, by a link and by the way back', async () => {
    const page = await visit();
    await page.goto(`${admin.url}/letters?queue=plain&status=open`);
    await page.click('tr[data-id] a >> nth=0');
    await page.click('button:has-text("Edit payload")');
    const address = page.url();
    await page.fill('textarea', '{ "color": "red" }');
    await page.click('.bar nav a:has-text("Audit")');
    await page.click('dialog >> text=Cancel');
    expect(await page.inputValue('textarea')).toContain('red');
    await page.evaluate('history.back()');
    await page.waitForSelector('dialog');
    await page.keyboard.press('Escape');
    expect(await page.inputValue('textarea')).toContain('red');
    expect(page.url()).toBe(address);
    await page.click('.bar nav a:has-text("Audit")');
    await page.click('dialog button.danger');
    await page.waitForURL(/audit$/);
    // Names and roles stand whole on their lines.
    await page.waitForSelector('.who-cell');
    expect(
      await page.evaluate(
        `[...document.querySelectorAll('.who-cell bdi')].filter((one) => one.getClientRects().length > 1).length`,
      ),
    ).toBe(0);
    await page.context().close();
  }, 90_000);

  it('keeps the form of a filter that was refused, selects all, marks matches, and previews', async () => {
    const page = await visit();
    await page.goto(`${admin.url}/letters?text=ab`);
    await page.waitForSelector('[role=alert]');
    await page.selectOption('#f-status', 'any');
    await page.fill('#f-text', 'plain failure');
    await page.keyboard.press('Enter');
    await page.waitForSelector('tr[data-id] mark');
    expect(await page.textContent('tr[data-id] mark')).toBe('plain failure');
    await page.waitForSelector('#l-queue option[value=plain]', { state: 'attached' });
    await page.check('[aria-label="Select all letters shown"]');
    await page.waitForSelector('.selection >> text=20 letters selected');
    await page.keyboard.press('j');
    await page.waitForSelector('.preview-pane .tree');
    await page.keyboard.press('x');
    await page.waitForSelector('.selection >> text=19 letters selected');
    await page.context().close();
  }, 90_000);

  it('pauses and resumes a queue, and has a job that is put off tried now, all by keyboard', async () => {
    const page = await visit();
    const queue = 'file-analysis-queue';
    await admin.queues.enqueueJobs(queue, ANY_PAYLOAD, [{ payload: {}, jobId: 'put-off', delayMs: 600_000 }]);
    await page.keyboard.press('g');
    await page.keyboard.press('q');
    await page.waitForURL(/queues$/);
    await page.focus(`[aria-label="pause ${queue}"]`);
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog #note');
    await page.keyboard.press('Enter');
    await page.waitForSelector('h2 .chip >> text=paused');
    await page.focus(`[aria-label="Make put-off due now"]`);
    await page.keyboard.press('Enter');
    await page.waitForSelector('tr >> text=put-off', { state: 'detached' });
    await page.focus(`[aria-label="resume ${queue}"]`);
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog #note');
    await page.keyboard.press('Enter');
    await page.waitForSelector(`[aria-label="pause ${queue}"]`);
    await page.context().close();
  }, 90_000);

  it('can be read by those who do not see it, and used on a phone', async () => {
    const page = await visit(admin.adminKey);
    const [letter] = (await admin.client.letters({ queue: 'plain' })).items;
    await admin.client.startBulk({ kind: 'discard', ids: [letter?.id ?? 0] });
    const [action] = (await admin.client.bulkActions()).items;
    const pages = ['/', '/groups', '/letters', '/bulk', '/queues', '/events', '/audit', '/keys', '/docs'];
    const addresses = [...pages, `/letters/${letter?.id}`, `/groups/${letter?.group}`, `/bulk/${action?.id}`];
    for (const [index, address] of addresses.entries()) {
      await page.emulateMedia({ colorScheme: index % 2 ? 'dark' : 'light' });
      await page.setViewportSize({ width: 1_200, height: 800 });
      await page.goto(admin.url + address);
      await page.waitForSelector('.view h1');
      expect([address, await unreadable(page)]).toEqual([address, []]);
      await page.setViewportSize({ width: 390, height: 800 });
      await eventually(async () => expect([address, await cutOff(page)]).toEqual([address, []]));
    }
    await page.emulateMedia({ colorScheme: 'light' });
    // The token of the session alone, which opens nothing without the cookie.
    expect(await page.evaluate('[localStorage.length, Object.keys(sessionStorage).join()]')).toEqual([
      0,
      'millrace-csrf',
    ]);
    const foreign = await page.evaluate<string[]>(
      `performance.getEntriesByType('resource').map((entry) => new URL(entry.name).origin).filter((origin) => origin !== location.origin)`,
    );
    expect(foreign).toEqual([]);
    await page.context().close();
  }, 90_000);
});
