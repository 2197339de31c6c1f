import { CodedError } from '#service';

/** How a lease ended against its holder's will. */
export type LossReason =
  /** Its time ran out before a renewal was confirmed: Redis, the network or this process was too slow. */
  | 'expired'
  /** Redis answered that the key is gone or belongs to another. */
  | 'refused'
  /** The database has issued a newer fence for the key. */
  | 'fenced'
  /** The lock service was stopped while the lease was held. */
  | 'stopped'
  /** It was used after its holder had released it. */
  | 'released';

const LOSS: Record<LossReason, string> = {
  expired: 'it could not be renewed in time',
  refused: 'Redis holds another owner, or none, under its key',
  fenced: 'a newer fence was issued for its key',
  stopped: 'the lock service was stopped',
  released: 'it was released',
};

/** The holder no longer has the lease and never will again. What was not committed must not be. */
export class LeaseLostError extends CodedError {
  constructor(
    readonly key: string,
    readonly ownerId: string,
    readonly fence: number,
    readonly reason: LossReason,
    cause?: unknown,
  ) {
    super(
      'LEASE_LOST',
      `the lease on "${key}" (fence ${fence}) is lost: ${LOSS[reason]}; stop this work, another holder may have begun`,
      { cause },
    );
  }
}

/** A write arrived with a fence older than the newest issued for its key: its lease was lost. Nothing was written. */
export class StaleFenceError extends CodedError {
  constructor(
    readonly key: string,
    readonly fence: number,
    newest: number | undefined,
  ) {
    super(
      'STALE_FENCE',
      `fence ${fence} of "${key}" is stale (newest: ${newest ?? 'none'}); another holder took over, stop working on it`,
      { newest },
    );
  }
}

/** Nobody can say who holds the lock: too few lock nodes answered in time. Not a refusal. */
export class LockUnavailableError extends CodedError {
  constructor(key: string | undefined, answered: number, needed: number, cause?: unknown) {
    super(
      'LOCK_UNAVAILABLE',
      `${answered} of the ${needed} lock nodes needed answered in time${key ? ` for "${key}"` : ''}; ` +
        'check that Redis (REDIS_LOCK_URLS, or else REDIS_URL) runs, is reachable, and has been up for longer than a lease',
      { key, answered, needed, cause },
    );
  }
}

/** The service takes no work before `start` and after `stop`. */
export const lockServiceStopped = (): CodedError =>
  new CodedError(
    'LOCK_SERVICE_STOPPED',
    'the lock service is not running: start it first, and acquire nothing during shutdown',
  );
