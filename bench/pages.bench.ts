// Script time of the home page until it shows the pipeline: `npm run bench -- pages [files]`.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { spawnBuilt, tempFolder } from '#testing';
import { launchBrowser } from '../test/e2e/browser.js';
import { makeTree } from '../test/e2e/tree.js';
import { report } from './report.js';

const FILES = Number(process.argv[2] ?? 2_000);
const VISITS = 7;
const AIM_MS = 100;

const folder = await tempFolder('pages-bench');
const at = (name: string): string => join(folder.path, name);
await mkdir(at('tree'));
await makeTree(at('tree'), FILES);
const run = spawnBuilt(
  'apps/cli/src/main',
  ['--data', at('data'), '-o', 'json', 'run', at('tree'), '--out', at('out'), '--keep'],
  { TMPDIR: folder.path },
);
await run.output('Services stay up', 3_600_000);
const browser = await launchBrowser();
try {
  const times = await visits(browser, /Dead letters: (\S+)/.exec(run.stderr)?.[1] ?? '');
  const value = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  report({
    name: `pages.home.${FILES}.script`,
    value,
    unit: 'ms',
    peer: AIM_MS,
    ratio: AIM_MS / value,
    aim: 1,
  });
} finally {
  await browser.close();
  await run.end('SIGINT', 60_000);
  await folder.remove();
}

/** Milliseconds that Chromium spent in script on each visit, compiling included, the way in not. */
async function visits(browser: Browser, link: string): Promise<number[]> {
  const page = await browser.newPage();
  await page.goto(link);
  await page.waitForSelector('.way');
  const session = await page.context().newCDPSession(page);
  const times: number[] = [];
  for (let visit = 0; visit < VISITS; visit++) {
    await page.goto('about:blank');
    await session.send('Performance.enable');
    await page.goto(new URL('/', link).href);
    await page.waitForSelector('.way');
    const { metrics } = await session.send('Performance.getMetrics');
    times.push(1_000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0));
    await session.send('Performance.disable');
  }
  return times;
}
