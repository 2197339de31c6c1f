import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, spawnProgram, tempFolder, type Child, type TempFolder } from '#testing';
import { Orders } from './orders.js';

const HOUR_MS = 3_600_000;
// Tells its wall clock by both ways to read it, and how late its timer was, for ever.
const PROGRAM = `let last = performance.now();
setInterval(() => {
  console.log(JSON.stringify({ now: Date.now(), made: new Date().getTime(), lag: performance.now() - last }));
  last = performance.now();
}, 20);`;

describe('orders to a process of the storm', () => {
  let folder: TempFolder;
  let child: Child;
  let orders: Orders;

  beforeEach(async () => {
    folder = await tempFolder('orders');
    orders = new Orders(folder.path);
    child = spawnProgram(process.execPath, ['-e', PROGRAM], { env: orders.environment });
  });

  afterEach(async () => {
    await child.end('SIGKILL');
    await folder.remove();
  });

  const given = (order: Parameters<Orders['give']>[1]) => eventually(() => orders.give(child.pid, order));

  it('make its wall clock wrong, and right again', async () => {
    const error = (): number[] => {
      const { now, made } = child.logs().at(-1) as { now: number; made: number };
      return [now, made].map((time) => Math.round((time - Date.now()) / HOUR_MS) + 0);
    };
    for (const [byMs, hours] of [
      [HOUR_MS, 1],
      [-HOUR_MS, -1],
      [0, 0],
    ] as const) {
      await given({ kind: 'shift', byMs });
      await eventually(() => expect(error()).toEqual([hours, hours]));
    }
  });

  it('make its event loop stand still', async () => {
    await given({ kind: 'block', forMs: 1_500 });
    await eventually(() => child.logs().some(({ lag }) => (lag as number) >= 1_500));
  });

  it('are not given to a process that would die of them', () => {
    expect(orders.give(process.pid, { kind: 'block', forMs: 1 })).toBe(false);
  });
});
