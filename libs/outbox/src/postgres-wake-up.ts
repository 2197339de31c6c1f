import pg from 'pg';
import { backoffMs, sleep, type Logger, type Service } from '#service';

const CHANNEL = 'millrace_outbox';

/** SQL that, at commit, wakes every publisher that listens. */
export const NOTIFY = `SELECT pg_notify('${CHANNEL}', '')`;

export interface PostgresWakeUpOptions {
  /** The address of a PostgreSQL database. */
  url: string;
  onWake: () => void;
  logger: Logger;
}

const RECONNECT = { baseMs: 200, maxMs: 5_000 };
const CONNECT_TIMEOUT_MS = 5_000;
// A half-open connection stays silent for ever; this asks it now and then.
const PROBE_MS = 15_000;

/**
 * Listens, on a connection of its own, for events that were committed. Only a hint: notices sent while it is disconnected
 * are lost, which polling makes good; it reconnects by itself and wakes once after that.
 */
export class PostgresWakeUp implements Service {
  readonly name = 'outbox wake-up';
  private run: { stopping: AbortController; ended: Promise<void> } | undefined;

  constructor(private readonly options: PostgresWakeUpOptions) {}

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
      const listened = await this.listen(signal);
      if (listened) failures = 0;
      if (!signal.aborted) await sleep(backoffMs(failures, RECONNECT), signal);
    }
  }

  /** Listens until the connection is lost or `signal` aborts. Returns whether it ever listened. */
  private async listen(signal: AbortSignal): Promise<boolean> {
    const client = this.client();
    const lost = new Promise<void>((resolve) => {
      client.on('error', () => resolve());
      client.on('end', () => resolve());
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    let listening = false;
    try {
      await client.connect();
      client.on('notification', () => this.options.onWake());
      await client.query(`LISTEN ${CHANNEL}`);
      listening = true;
      this.options.onWake();
      await Promise.race([lost, this.probe(client, signal)]);
      if (!signal.aborted) this.options.logger.warn('outbox wake-up connection lost; polling goes on');
    } catch (error) {
      if (!signal.aborted) this.options.logger.warn({ err: error }, 'outbox wake-up failed; polling goes on');
    } finally {
      await client.end().catch(() => {});
    }
    return listening;
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
      connectionString: this.options.url,
      application_name: 'millrace-outbox-wake-up',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
  }
}
