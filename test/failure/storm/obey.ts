import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import type { Order } from './orders.js';

// Loaded before an app of the storm (`node --import`): on SIGUSR2 it does to its own process what the order says.
const RealDate = Date;
let shiftMs = 0;

class ShiftedDate extends RealDate {
  constructor(...args: [] | ConstructorParameters<DateConstructor>) {
    if (args.length === 0) super(ShiftedDate.now());
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

function obey(order: Order): void {
  switch (order.kind) {
    case 'block':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.forMs);
      break;
    case 'shift':
      shiftMs = order.byMs;
      globalThis.Date = ShiftedDate as DateConstructor;
      // A process with nothing to do would not tell for long.
      console.log(JSON.stringify({ time: new Date().toISOString(), msg: 'the clock was set' }));
  }
}

const { STORM_ORDERS: folder } = process.env;
if (isMainThread && folder !== undefined)
  process.on('SIGUSR2', () =>
    obey(JSON.parse(readFileSync(join(folder, `${process.pid}.json`), 'utf8')) as Order),
  );
