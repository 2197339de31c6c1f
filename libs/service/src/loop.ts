import { backoffMs } from './backoff.js';
import type { Logger } from './logger.js';
import type { Service } from './service.js';
import { sleep } from './sleep.js';

interface LoopOptions {
  name: string;
  logger: Logger;
  /** See `Loop.tick`; for those that do not extend it. */
  tick?: (signal: AbortSignal) => Promise<boolean | void>;
  /** The wait between rounds that found nothing; a number or, for adaptive waits, a function of idle rounds in a row. */
  idleMs: number | ((idleRounds: number) => number);
  /** Ceiling of the wait after rounds that threw. */
  maxBackoffMs?: number;
}

/**
 * Runs `tick` again and again until stopped. A round that throws is logged and followed by a growing, jittered wait; it
 * never ends the loop. `stop` resolves when the round in progress has ended. A service that is a loop extends it.
 */
export class Loop implements Service {
  readonly name: string;
  private running: { stopping: AbortController; ended: Promise<void> } | undefined;
  private idling = new AbortController();

  constructor(private readonly loop: LoopOptions) {
    this.name = loop.name;
  }

  async start(): Promise<void> {
    if (this.running) return;
    const stopping = new AbortController();
    this.running = { stopping, ended: this.run(stopping.signal) };
  }

  async stop(): Promise<void> {
    const running = this.running;
    if (!running) return;
    running.stopping.abort();
    this.wake();
    await running.ended;
    if (this.running === running) this.running = undefined;
  }

  /** Ends the present wait, if any, so that the next round begins at once. */
  wake(): void {
    this.idling.abort();
  }

  /** One round of work. Returns true when there may be more at once, otherwise the loop idles. */
  async tick(signal: AbortSignal = new AbortController().signal): Promise<boolean | void> {
    return this.loop.tick?.(signal);
  }

  private async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let idleRounds = 0;
    while (!signal.aborted) {
      // A wake during the round must not be lost: the wait that follows is the one it cuts short.
      this.idling = new AbortController();
      const outcome = await this.round(signal);
      failures = outcome === 'failed' ? failures + 1 : 0;
      idleRounds = outcome === 'idle' ? idleRounds + 1 : 0;
      if (outcome === 'busy') continue;
      const { idleMs, maxBackoffMs: maxMs = 10_000 } = this.loop;
      const idle = (): number => (typeof idleMs === 'number' ? idleMs : idleMs(idleRounds));
      await sleep(failures > 0 ? backoffMs(failures, { baseMs: 100, maxMs }) : idle(), this.idling.signal);
    }
  }

  private async round(signal: AbortSignal): Promise<'busy' | 'idle' | 'failed'> {
    try {
      return (await this.tick(signal)) ? 'busy' : 'idle';
    } catch (error) {
      if (!signal.aborted)
        this.loop.logger.error({ err: error, loop: this.name }, 'round failed; will try again');
      return 'failed';
    }
  }
}
