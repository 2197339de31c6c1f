import { randomBytes } from 'node:crypto';
import type { RedisGate } from '#redis';
import { Loop } from '#service';
import type { Settings } from './queue-manager.options.js';

type PresenceState = 'alive' | 'stopping' | 'gone';

const STOPPING_TTL_MS = 3_600_000;

/**
 * Tells the fleet whether this worker lives, so that a job whose worker vanished can be told from one whose worker was
 * asked to stop or only froze. A hint: where it is wrong, a job is run once more than needed.
 */
export class Presence extends Loop {
  private stopping = false;
  readonly key: string;

  constructor(
    private readonly gate: RedisGate,
    private readonly settings: Settings,
  ) {
    const { logger, times, prefix, workerId } = settings;
    const silent = logger.child({}, { level: 'silent' });
    super({ name: 'presence', logger: silent, idleMs: times.beatMs, maxBackoffMs: times.beatMs });
    this.key = `${prefix}:presence:${workerId}:${randomBytes(6).toString('hex')}`;
  }

  /** From here on a sudden end of this process is nobody's fault. */
  async announceStop(): Promise<void> {
    this.stopping = true;
    await this.write('stopping', STOPPING_TTL_MS).catch(() => {});
  }

  async read(key: string): Promise<PresenceState> {
    const value = await this.gate.run('read presence', (client) => client.get(key));
    return value === 'alive' || value === 'stopping' ? value : 'gone';
  }

  override async tick(): Promise<void> {
    if (!this.stopping) await this.write('alive', this.settings.times.presenceMs);
  }

  private async write(state: PresenceState, ttlMs: number): Promise<void> {
    await this.gate.run('write presence', (client) => client.set(this.key, state, 'PX', ttlMs));
  }
}
