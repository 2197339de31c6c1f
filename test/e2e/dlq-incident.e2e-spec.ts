import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { eventually } from '#testing';
import { cutOff, launchBrowser, unreadable } from './browser.js';
import { IncidentAnalyser } from './incident-analyser.js';
import { useRunRig } from './run-rig.js';

/** How many files of each folder; each file fills a batch. */
const FOLDERS = { src: 40, legacy: 12, vendor: 8, drafts: 5 };
const FAILING = FOLDERS.legacy + FOLDERS.vendor + FOLDERS.drafts;
const PICTURES =
  process.env.PICTURES === undefined ? undefined : join(import.meta.dirname, '../../docs/images');

describe('an incident, from the first page to none open', () => {
  const rig = useRunRig('group');
  let analyser: IncidentAnalyser;
  let browser: Browser;
  let page: Page;
  let clicks = 0;

  beforeAll(async () => {
    analyser = await IncidentAnalyser.start();
    for (const [folder, files] of Object.entries(FOLDERS)) {
      await mkdir(join(rig.tree, folder));
      for (let n = 0; n < files; n++)
        await writeFile(join(rig.tree, folder, `${n}.txt`), `${folder} ${n}: a line of text\n`.repeat(80));
    }
    const run = rig.run('--url', analyser.url, '--max-tokens', '1000', '--keep');
    await run.output('Services stay up', 180_000);
    browser = await launchBrowser();
    page = await (await browser.newContext({ viewport: { width: 1_280, height: 900 } })).newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(/Dead letters: (\S+)/.exec(run.stderr)?.[1] ?? '');
  }, 240_000);
  afterAll(async () => {
    await browser.close();
    await analyser.stop();
  });

  const click = async (what: string): Promise<void> => {
    clicks++;
    await page.click(what);
  };
  const readable = async (): Promise<void> => {
    expect([page.url(), await unreadable(page)]).toEqual([page.url(), []]);
    await page.setViewportSize({ width: 390, height: 900 });
    await eventually(async () => expect([page.url(), await cutOff(page)]).toEqual([page.url(), []]));
    await page.setViewportSize({ width: 1_280, height: 900 });
  };
  const picture = async (name: string): Promise<void> => {
    if (!PICTURES) return;
    const sizes = { desktop: 1_120, dark: 1_120, phone: 390 };
    for (const [look, width] of Object.entries(sizes)) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: look === 'dark' ? 'dark' : 'light' });
      await page.screenshot({ path: join(PICTURES, `${name}-${look}.png`) });
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1_280, height: 900 });
  };

  it('shows the causes at once; mended, each is requeued by canary, in at most twelve clicks', async () => {
    await page.waitForSelector(`.box.bad .figure:text-is("${FAILING}")`);
    await page.waitForSelector('a.row-link >> nth=2');
    expect(await page.locator('a.row-link').count()).toBe(3);
    await picture('home');
    analyser.mended = true;
    for (let cause = 0; cause < 3; cause++) {
      await click('a.row-link >> nth=0');
      await page.waitForSelector('.message-line');
      if (cause === 0) await picture('group');
      await click('.heading button.primary');
      await click('dialog button.primary:not([disabled])');
      await page.waitForSelector('h1 .chip.completed');
      if (cause === 0) await picture('bulk');
      await click('.bar nav a >> nth=0');
      await page.waitForSelector('.way');
      await eventually(async () => expect(await page.locator('a.row-link').count()).toBe(2 - cause));
    }
    await page.waitForSelector('.way .box:last-child .figure:text-is("0")');
    await page.waitForSelector(`.legend .analyzed:has-text("${FAILING + FOLDERS.src} analyzed")`);
    expect(clicks).toBeLessThanOrEqual(12);
  }, 240_000);

  it('tells of each letter which files it holds, and of a file and a batch how they came there', async () => {
    await page.click('.bar nav a:has-text("Letters")');
    await page.selectOption('#f-status', 'resolved');
    await page.click('button:has-text("Filter")');
    await page.click('tr[data-id] a >> nth=0');
    await page.waitForSelector('h1 .chip.resolved');
    await page.click('a:has-text("Batch of")');
    await page.waitForSelector('text=What is known');
    await picture('batch');
    await readable();
    await page.click('td a[href^="/files/"]');
    await page.waitForURL(/files/);
    await page.waitForSelector('h1 .chip.completed');
    expect(await page.textContent('.timeline')).toContain('later');
    await readable();
  }, 120_000);
});
