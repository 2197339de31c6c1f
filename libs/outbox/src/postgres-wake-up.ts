import { once } from 'node:events';
import pg from 'pg';
import { backoffMs, sleep, type Logger, type Service } from '#service';

const CHANNEL = 'millrace_outbox';

/** SQL that, at commit, wakes every publisher that listens. */
export const NOTIFY = `SELECT pg_notify('${CHANNEL}', '')`;

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
export class PostgresWakeUp implements Service {
  readonly name = 'outbox wake-up';
  private run: { stopping: AbortController; ended: Promise<void> } | undefined;

  constructor(
    private readonly url: string,
    private readonly onWake: () => void,
    private readonly logger: Logger,
  ) {}

  get running(): boolean {
    return this.run !== undefined;
  }

  async start(): Promise<void> {
    if (this.run) return;
    const stopping = new AbortController();
    this.run = { stopping, ended: this.listenAgain(stopping.signal) };
  }

  async stop(): Promise<void> {
    const run = this.run;
    if (!run) return;
    run.stopping.abort();
    await run.ended;
    if (this.run === run) this.run = undefined;
  }

  private async listenAgain(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      const outcome = await this.listen(signal);
      if (outcome === 'deaf') return;
      if (outcome === 'listened') failures = 0;
      if (!signal.aborted) await sleep(backoffMs(failures, RECONNECT), signal);
    }
  }

  /** Listens until the connection is lost or `signal` aborts. Returns whether it ever listened, or ever can. */
  private async listen(signal: AbortSignal): Promise<'failed' | 'listened' | 'deaf'> {
    const client = this.client();
    const lost = new Promise<void>((resolve) => {
      client.on('error', () => resolve());
      client.on('end', () => resolve());
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    let listening = false;
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      if (!(await this.hears(client, signal))) return await this.giveUp(client, signal);
      listening = true;
      client.on('notification', () => this.onWake());
      this.onWake();
      await Promise.race([lost, this.probe(client, signal)]);
      if (!signal.aborted) this.logger.warn('outbox wake-up connection lost; polling goes on');
    } catch (error) {
      if (!signal.aborted) this.logger.warn({ err: error }, 'outbox wake-up failed; polling goes on');
    } finally {
      await client.end().catch(() => {});
    }
    return listening ? 'listened' : 'failed';
  }

  /** Whether a notice of somebody else arrives while this connection waits: a pooler shows its own to itself. */
  private async hears(client: pg.Client, signal: AbortSignal): Promise<boolean> {
    const other = this.client();
    other.on('error', () => {});
    const stopWaiting = new AbortController();
    const heard = once(client, 'notification', { signal: stopWaiting.signal }).then(
      () => true,
      () => false,
    );
    try {
      await other.connect();
      await other.query(NOTIFY);
      return await Promise.race([heard, sleep(HEAR_MS, signal).then(() => false)]);
    } finally {
      stopWaiting.abort();
      await other.end().catch(() => {});
    }
  }

  private async giveUp(client: pg.Client, signal: AbortSignal): Promise<'failed' | 'deaf'> {
    if (signal.aborted) return 'failed';
    // The session behind the pooler is somebody else's next.
    await client.query('UNLISTEN *');
    this.logger.warn(
      'notices of committed events do not come through (a pooler in transaction mode?); the outbox is polled instead: give LISTEN_DATABASE_URL the address of PostgreSQL itself',
    );
    return 'deaf';
  }

  private async probe(client: pg.Client, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(PROBE_MS, signal);
      if (signal.aborted) return;
      await client.query('SELECT 1');
    }
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
