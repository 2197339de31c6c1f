import { randomBytes } from 'node:crypto';
import { Loop, systemClock } from '#service';
import type { QueueManager } from './queue-manager.js';

type PresenceState = 'alive' | 'stopping' | 'gone';

/** A process of the fleet, as it last showed itself. */
export interface RosterEntry {
  id: string;
  app: string;
  /** The queues that it takes jobs from, and how many it holds now. */
  jobs: { queue: string; active: number }[];
  lastSeenAt: number;
  state: 'alive' | 'silent';
}

const SILENT_AFTER_MS = 6_000;
/** One that announced its stop, or died, stays known for so long. */
const KEPT_MS = 3_600_000;

/**
 * Tells the fleet whether this process lives, so that a job whose worker vanished can be told from one whose worker was
 * asked to stop or only froze. A hint: where it is wrong, a job is run once more than needed.
 * It also shows itself in the roster, a hash with a field for each process, for people to look at. One that ends in order takes
 * its name off; one that is killed stays, silent, until it is forgotten.
 */
export class Presence extends Loop {
  private stopping = false;
  private readonly id = randomBytes(6).toString('hex');

  constructor(private readonly manager: QueueManager) {
    const { logger, times } = manager.settings;
    const silent = logger.child({}, { level: 'silent' });
    super({ name: 'presence', logger: silent, idleMs: times.beatMs, maxBackoffMs: times.beatMs });
  }

  get key(): string {
    const { prefix, workerId } = this.manager.settings;
    return `${prefix}:presence:${workerId}:${this.id}`;
  }

  /** From here on a sudden end of this process is nobody's fault. */
  async announceStop(): Promise<void> {
    this.stopping = true;
    await this.write('stopping', KEPT_MS).catch(() => {});
  }

  override async stop(): Promise<void> {
    await super.stop();
    const { gate, settings } = this.manager;
    if (!settings.app || !gate.ready) return;
    await gate
      .run('leave the roster', (client) => client.hdel(this.roster, settings.workerId))
      .catch(() => {});
  }

  async read(key: string): Promise<PresenceState> {
    const value = await this.manager.gate.run('read presence', (client) => client.get(key));
    return value === 'alive' || value === 'stopping' ? value : 'gone';
  }

  /** Those who showed themselves within the last hour, by app. */
  async fleet(): Promise<RosterEntry[]> {
    const now = systemClock.now();
    const told = await this.manager.gate.run('read the roster', (client) => client.hgetall(this.roster));
    return Object.entries(told)
      .map(([id, text]) => entryOf(id, text, now))
      .filter(({ lastSeenAt }) => now - lastSeenAt < KEPT_MS)
      .sort((a, b) => a.app.localeCompare(b.app) || a.id.localeCompare(b.id));
  }

  override async tick(): Promise<void> {
    const { app, times } = this.manager.settings;
    if (!this.stopping) await this.write('alive', times.presenceMs);
    if (app) await this.show();
  }

  private async write(state: PresenceState, ttlMs: number): Promise<void> {
    await this.manager.gate.run('write presence', (client) => client.set(this.key, state, 'PX', ttlMs));
  }

  private async show(): Promise<void> {
    const { app, workerId } = this.manager.settings;
    const jobs = [...this.manager.workers].map(({ queue, active }) => ({ queue: queue.name, active }));
    const shown = JSON.stringify({ app, jobs, at: systemClock.now() });
    await this.manager.gate.run('show in the roster', (client) =>
      client.pipeline().hset(this.roster, workerId, shown).pexpire(this.roster, KEPT_MS).exec(),
    );
  }

  // Below `presence`, where the users of the apps may write.
  private get roster(): string {
    return `${this.manager.settings.prefix}:presence:roster`;
  }
}

function entryOf(id: string, text: string, now: number): RosterEntry {
  const { app, jobs, at } = JSON.parse(text) as { app: string; jobs: RosterEntry['jobs']; at: number };
  return { id, app, jobs, lastSeenAt: at, state: now - at > SILENT_AFTER_MS ? 'silent' : 'alive' };
}
