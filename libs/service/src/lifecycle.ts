import { backoffMs } from './backoff.js';
import { systemClock, type Clock } from './clock.js';
import { messageOf, startupTimeout } from './errors.js';
import type { Logger } from './logger.js';
import { down, isFatalStartup, UP, type Health, type Service } from './service.js';
import { sleep, within } from './sleep.js';

/** `held` is started as far as was asked for; the rest starts when it is wanted. */
type LifecycleState = 'new' | 'starting' | 'held' | 'started' | 'stopping' | 'stopped';

interface LifecycleOptions {
  logger: Logger;
  /** How long one part may be retried at start; 0 for ever. */
  startupTimeoutMs: number;
  clock?: Clock;
}

// A probe answers within the default timeout of orchestrators, whatever a dependency does.
const HEALTH_TIMEOUT_MS = 2_000;
const RETRY = { baseMs: 250, maxMs: 5_000 };

/**
 * Starts parts in order and stops them in reverse. A part that cannot start yet is retried, with one clear line a try,
 * while the process stays alive and not ready. `stop` may come at any time, any number of times; every part that was
 * asked to start is asked to stop, and one that fails to stop does not keep the others from it.
 */
export class Lifecycle {
  private current: LifecycleState = 'new';
  private readonly stopping = new AbortController();
  private readonly touched: Service[] = [];
  private stopped: Promise<void> | undefined;
  private starting: Promise<void> = Promise.resolve();

  constructor(
    private readonly services: readonly Service[],
    private readonly options: LifecycleOptions,
  ) {}

  get state(): LifecycleState {
    return this.current;
  }

  /** Aborts when the shutdown begins. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** Starts all parts that were not started yet, or those until so many are. */
  async start(count = this.services.length): Promise<void> {
    this.current = 'starting';
    this.starting = this.startNext(count);
    await this.starting;
  }

  stop(): Promise<void> {
    this.stopped ??= this.stopAll();
    return this.stopped;
  }

  /** Readiness: every part up that was to start. While starting or stopping it is down. */
  async readiness(): Promise<Record<string, Health>> {
    if (this.current !== 'started' && this.current !== 'held')
      return { lifecycle: down(`${this.current}: waiting for ${this.touched.at(-1)?.name ?? 'nothing'}`) };
    const rows = await Promise.all(
      this.touched.map(async (service) => [service.name, await this.healthOf(service)] as const),
    );
    return { lifecycle: UP, ...Object.fromEntries(rows) };
  }

  /** Liveness: this process and its event loop, never a dependency; a part may ask for a restart as its last resort. */
  liveness(): Record<string, Health> {
    const asked = this.services.flatMap((service) =>
      service.liveness ? [[service.name, service.liveness()] as const] : [],
    );
    return { process: UP, ...Object.fromEntries(asked) };
  }

  private async startNext(count: number): Promise<void> {
    for (const service of this.services.slice(this.touched.length, count)) {
      if (this.signal.aborted) return;
      this.touched.push(service);
      await this.startWithRetries(service);
    }
    if (!this.signal.aborted) this.current = count < this.services.length ? 'held' : 'started';
  }

  private async startWithRetries(service: Service): Promise<void> {
    const { logger, startupTimeoutMs, clock = systemClock } = this.options;
    const begun = clock.monotonic();
    for (let attempt = 0; !this.signal.aborted; attempt++) {
      try {
        return await service.start(this.signal);
      } catch (error) {
        if (this.signal.aborted) return;
        if (isFatalStartup(error)) throw error;
        const waited = Math.round(clock.monotonic() - begun);
        if (startupTimeoutMs > 0 && waited >= startupTimeoutMs)
          throw startupTimeout(service.name, waited, error);
        const retryMs = backoffMs(attempt, RETRY);
        const facts = { part: service.name, reason: messageOf(error), retry_ms: retryMs };
        logger.warn(facts, `waiting for ${facts.part}: ${facts.reason}`);
        await sleep(retryMs, this.signal);
      }
    }
  }

  private async stopAll(): Promise<void> {
    this.current = 'stopping';
    this.stopping.abort();
    for (const service of [...this.touched].reverse()) await this.stopOne(service);
    await this.starting.catch(() => {});
    this.current = 'stopped';
  }

  private async stopOne(service: Service): Promise<void> {
    try {
      await service.stop();
    } catch (error) {
      this.options.logger.error({ err: error, part: service.name }, 'part failed to stop; going on');
    }
  }

  private async healthOf(service: Service): Promise<Health> {
    try {
      const asked = Promise.resolve(service.health?.() ?? UP);
      return await within(HEALTH_TIMEOUT_MS, asked, () => down(`no answer in ${HEALTH_TIMEOUT_MS} ms`));
    } catch (error) {
      return down(messageOf(error));
    }
  }
}
