import { messageOf, type Clock, type Logger } from '#service';
import { errorKind } from './error-kind.js';
import { schemaVersion } from './migrator.js';
import type { PostgresStore } from './postgres.store.js';
import type { ReadOptions, Store, Work } from './store.js';

// A replica that is away costs one try so often; its readers are served by the primary meanwhile.
const TRY_AGAIN_MS = 30_000;

type State =
  { name: 'untried' } | { name: 'in use'; opened: Promise<boolean> } | { name: 'away'; until: number };

/**
 * Serves reads that may be a moment old. It is never needed: while the replica is away, or does not have the schema of the
 * primary yet, the primary serves them.
 */
export class ReadReplica {
  private state: State = { name: 'untried' };

  constructor(
    private readonly replica: PostgresStore,
    private readonly primary: Store,
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  async read<T>(work: Work<T>, options: ReadOptions): Promise<T> {
    if (!(await this.usable())) return this.primary.read(work, options);
    try {
      return await this.replica.read(work, options);
    } catch (error) {
      const kind = errorKind(error);
      // A conflict is the replica's own: what it replays removes the rows that the statement reads.
      if (kind !== 'connection-lost' && kind !== 'conflict') throw error;
      if (kind === 'connection-lost') await this.setAside(messageOf(error));
      return this.primary.read(work, options);
    }
  }

  async close(): Promise<void> {
    if (this.state.name === 'in use') await this.state.opened;
    this.state = { name: 'untried' };
    await this.replica.close();
  }

  private usable(): Promise<boolean> {
    if (this.state.name === 'away' && this.clock.monotonic() < this.state.until)
      return Promise.resolve(false);
    if (this.state.name !== 'in use') this.state = { name: 'in use', opened: this.open() };
    return this.state.opened;
  }

  private async open(): Promise<boolean> {
    try {
      await this.replica.open();
      const [there, here] = await Promise.all([
        this.replica.read(schemaVersion),
        this.primary.read(schemaVersion),
      ]);
      if (there === here) return true;
      await this.setAside(`its schema is version ${there}, the primary's ${here}`);
    } catch (error) {
      await this.setAside(messageOf(error));
    }
    return false;
  }

  private async setAside(reason: string): Promise<void> {
    if (this.state.name === 'away') return;
    this.state = { name: 'away', until: this.clock.monotonic() + TRY_AGAIN_MS };
    this.logger.warn({ reason }, 'the read replica is not used; the primary serves its reads');
    await this.replica.close().catch(() => {});
  }
}
