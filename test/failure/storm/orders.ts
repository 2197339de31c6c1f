import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PROJECT_ROOT } from '#testing';
import { catches } from './process-facts.js';

/** What a process of the storm can be told to suffer; see obey.ts. */
export type Order =
  /** Its event loop stands still for so long. */
  | { kind: 'block'; forMs: number }
  /** Its wall clock is wrong by so much from now on; 0 sets it right. */
  | { kind: 'shift'; byMs: number };

const ORDER_SIGNAL = 'SIGUSR2';

/** Gives orders to processes that were started with this environment. */
export class Orders {
  constructor(private readonly folder: string) {
    mkdirSync(folder, { recursive: true });
  }

  get environment(): Record<string, string> {
    const obey = pathToFileURL(join(PROJECT_ROOT, 'dist/test/failure/storm/obey.js'));
    return { NODE_OPTIONS: `--import=${obey.href}`, STORM_ORDERS: this.folder };
  }

  /** False when the process is not there, or too young to listen. */
  give(pid: number, order: Order): boolean {
    // The signal would end a process that does not listen for it yet.
    if (!catches(pid, ORDER_SIGNAL)) return false;
    writeFileSync(join(this.folder, `${pid}.json`), JSON.stringify(order));
    process.kill(pid, ORDER_SIGNAL);
    return true;
  }
}
