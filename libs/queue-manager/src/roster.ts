import { Loop, systemClock } from '#service';
import type { QueueManager } from './queue-manager.js';

/** A process of the fleet, as it last showed itself. */
export interface RosterEntry {
  id: string;
  app: string;
  /** The queues that it takes jobs from, and how many it holds now. */
  jobs: { queue: string; active: number }[];
  lastSeenAt: number;
  state: 'alive' | 'silent';
}

const SHOWN_EVERY_MS = 2_000;
const SILENT_AFTER_MS = 3 * SHOWN_EVERY_MS;
/** One that died stays in sight for so long. */
const KEPT_MS = 3_600_000;

/**
 * Who works here: a hash with a field for each process. One that ends in order takes its name off; one that is killed stays,
 * silent, until it is forgotten. For people to look at; nothing is decided by it.
 */
export class Roster extends Loop {
  constructor(private readonly manager: QueueManager) {
    const logger = manager.settings.logger.child({}, { level: 'silent' });
    super({ name: 'roster', logger, idleMs: SHOWN_EVERY_MS });
  }

  override async stop(): Promise<void> {
    await super.stop();
    const { gate, settings } = this.manager;
    if (!settings.app || !gate.ready) return;
    await gate.run('leave the roster', (client) => client.hdel(this.key, settings.workerId)).catch(() => {});
  }

  /** Those who showed themselves within the last hour, by app. */
  async read(): Promise<RosterEntry[]> {
    const now = systemClock.now();
    const told = await this.manager.gate.run('read the roster', (client) => client.hgetall(this.key));
    return Object.entries(told)
      .map(([id, text]) => entryOf(id, text, now))
      .filter(({ lastSeenAt }) => now - lastSeenAt < KEPT_MS)
      .sort((a, b) => a.app.localeCompare(b.app) || a.id.localeCompare(b.id));
  }

  override async tick(): Promise<void> {
    const { app, workerId } = this.manager.settings;
    const jobs = [...this.manager.workers].map(({ queue, active }) => ({ queue: queue.name, active }));
    const shown = JSON.stringify({ app, jobs, at: systemClock.now() });
    await this.manager.gate.run('show in the roster', (client) =>
      client.multi().hset(this.key, workerId, shown).pexpire(this.key, KEPT_MS).exec(),
    );
  }

  // Below `presence`, where the users of the apps may write.
  private get key(): string {
    return `${this.manager.settings.prefix}:presence:roster`;
  }
}

function entryOf(id: string, text: string, now: number): RosterEntry {
  const { app, jobs, at } = JSON.parse(text) as { app: string; jobs: RosterEntry['jobs']; at: number };
  return { id, app, jobs, lastSeenAt: at, state: now - at > SILENT_AFTER_MS ? 'silent' : 'alive' };
}
