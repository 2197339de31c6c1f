import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type Page } from 'playwright-core';

const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The system's Chromium. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: EXECUTABLES.find((path) => existsSync(path)),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/** What axe finds serious. */
export async function unreadable(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')))`);
}

/** What stands beyond the edge of the screen, unless its box scrolls. */
export function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const scrolls = (element) => element && (/(auto|scroll)/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    const wide = document.documentElement.scrollWidth > innerWidth ? ['the page'] : [];
    return wide.concat([...document.querySelectorAll('body *')]
      .filter((element) => element.checkVisibility() && !element.closest('.visually-hidden, .skip'))
      .filter((element) => { const { right, left, width } = element.getBoundingClientRect(); return width > 1 && (right > innerWidth + 1 || left < -1); })
      .filter((element) => !scrolls(element.parentElement))
      .map((element) => element.outerHTML.slice(0, 120)).slice(0, 5));
  })()`);
}
