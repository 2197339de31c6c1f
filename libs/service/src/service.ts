export type Health = { status: 'up' } | { status: 'down'; reason: string };

export const UP: Health = { status: 'up' };
export const down = (reason: string): Health => ({ status: 'down', reason });

/**
 * What every long-lived part is: a connection, a worker, a loop. The lifecycle starts parts in order and stops them in
 * reverse.
 * - `start` resolves when the part works. It may be called again after it rejected; it leaves nothing behind then.
 * - `stop` is idempotent, may be called before or during `start`, and resolves when nothing of the part runs any more.
 */
export interface Service {
  readonly name: string;
  start(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
  /** Whether the part can do its work now; asked by the readiness probe. */
  health?(): Health | Promise<Health>;
  /** Whether only a restart of the process could help; asked by the liveness probe. Never reports a dependency. */
  liveness?(): Health;
}

/** A start-up error that waiting cannot cure (a newer schema, a Redis that evicts): the process exits instead of retrying. */
export function isFatalStartup(error: unknown): boolean {
  return error instanceof Error && 'fatal' in error && error.fatal === true;
}
