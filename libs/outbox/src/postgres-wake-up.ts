import { once } from 'node:events';
import pg from 'pg';
import { dialectOf, queryRows, type EntityManager } from '#database';
import { backoffMs, Loop, sleep, type Logger } from '#service';

const CHANNEL = 'millrace_outbox';

/** SQL that, at commit, wakes every publisher that listens. */
export const NOTIFY = `SELECT pg_notify('${CHANNEL}', '')`;

/** The same in a transaction of either database: SQLite's log is watched instead. */
export async function wakePublishers(tx: EntityManager): Promise<void> {
  if (dialectOf(tx) === 'postgres') await queryRows(tx, NOTIFY);
}

const RECONNECT = { baseMs: 200, maxMs: 5_000 };
const CONNECT_TIMEOUT_MS = 5_000;
// A half-open connection stays silent for ever; this asks it now and then.
const PROBE_MS = 15_000;
// A notice takes milliseconds; a machine that is busy may take longer.
const HEAR_MS = 5_000;

/**
 * Listens, on a connection of its own, for events that were committed. Only a hint: notices sent while it is disconnected
 * are lost, which polling makes good; it reconnects by itself and wakes once after that. Where no notice comes through, as
 * behind a pooler in transaction mode, it says so and leaves everything to polling.
 */
export class PostgresWakeUp extends Loop {
  constructor(
    private readonly url: string,
    private readonly onWake: () => void,
    private readonly logger: Logger,
  ) {
    super({ name: 'outbox wake-up', logger, idleMs: (failures) => backoffMs(failures - 1, RECONNECT) });
  }

  /** Listens until the connection is lost or `signal` aborts. Returns whether it ever listened. */
  override async tick(signal: AbortSignal = new AbortController().signal): Promise<boolean> {
    const client = this.client();
    const lost = new AbortController();
    for (const event of ['error', 'end'] as const) client.on(event, () => lost.abort());
    let listening = false;
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      listening = await this.hears(client, signal);
      if (!listening) await this.giveUp(client, signal);
      else {
        client.on('notification', () => this.onWake());
        this.onWake();
        await probe(client, AbortSignal.any([signal, lost.signal]));
        if (!signal.aborted) this.logger.warn('outbox wake-up connection lost; polling goes on');
      }
    } catch (error) {
      if (!signal.aborted) this.logger.warn({ err: error }, 'outbox wake-up failed; polling goes on');
    } finally {
      await client.end().catch(() => {});
    }
    return listening;
  }

  /** Whether a notice of somebody else arrives while this connection waits: a pooler shows its own to itself. */
  private async hears(client: pg.Client, signal: AbortSignal): Promise<boolean> {
    const other = this.client();
    other.on('error', () => {});
    try {
      await other.connect();
      const enough = AbortSignal.any([signal, AbortSignal.timeout(HEAR_MS)]);
      const heard = once(client, 'notification', { signal: enough });
      await Promise.all([heard, other.query(NOTIFY)]);
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === 'AbortError') return false;
      throw error;
    } finally {
      await other.end().catch(() => {});
    }
  }

  private async giveUp(client: pg.Client, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    // The session behind the pooler is somebody else's next.
    await client.query('UNLISTEN *');
    this.logger.warn(
      'notices of committed events do not come through (a pooler in transaction mode?); the outbox is polled instead: give LISTEN_DATABASE_URL the address of PostgreSQL itself',
    );
    void this.stop();
  }

  private client(): pg.Client {
    return new pg.Client({
      connectionString: this.url,
      application_name: 'millrace-outbox-wake-up',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
  }
}

/** Returns when the connection is known to be lost, or nobody listens any more. */
async function probe(client: pg.Client, ended: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(PROBE_MS, ended);
    if (ended.aborted) return;
    await client.query('SELECT 1');
  }
}
