import { Inject, Injectable } from '@nestjs/common';
import { apiKeyId, ENVIRONMENT_KEY, hashSecret, secretMatches, type StoredApiKey } from '#database';
import { CLOCK, LOGGER, MillraceError, type Clock, type Logger, type Service } from '#service';
import { DlqAdminConfig, DlqAdminServiceConfig } from '../dlq-admin.config.js';
import { tooManyRequests, unavailable } from '../http/problems.js';
import type { Caller } from './caller.js';
import { KeysRepository } from './keys.repository.js';
import { isLoopbackAddress } from './origin.js';

/** Serving beyond this machine without any key would let anybody in. */
class NoKeyError extends MillraceError {
  readonly code = 'NO_API_KEY';
  readonly fatal = true;

  constructor(host: string) {
    super(
      `HOST ${host} is reachable from other machines but no key exists; create one (\`millrace keys create --role admin\`) ` +
        'or give ADMIN_KEY, or bind to 127.0.0.1',
    );
  }
}

export type Identified = Omit<Caller, 'mode' | 'ip'>;

const TOUCH_EVERY_MS = 60_000;
const NO_KEY_HASH = hashSecret('no key has this text');

/**
 * Decides who a secret belongs to. Closed by default: while the database does not answer nobody is let in. Every failure looks the same and takes the same steps, whether the key is unknown or wrong.
 */
@Injectable()
export class Access implements Service {
  readonly name = 'access';
  private readonly penalties: Penalties;
  private readonly touched = new Map<string, number>();
  /** Whether the tables say what ADMIN_KEY is now: before that a right one would be refused. */
  private settled = false;

  constructor(
    private readonly keys: KeysRepository,
    private readonly config: DlqAdminConfig,
    private readonly service: DlqAdminServiceConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.penalties = new Penalties(clock);
  }

  /** Refuses to serve other machines without a key. */
  async start(): Promise<void> {
    const { HOST: host } = this.service;
    const { ADMIN_KEY, AUTH } = this.config;
    await this.keys.setEnvironmentKey(ADMIN_KEY && hashSecret(ADMIN_KEY), this.clock.now());
    this.settled = true;
    const keyed = await this.keys.anyUsable(this.clock.now());
    if (!isLoopbackAddress(host) && (!keyed || AUTH === 'off')) throw new NoKeyError(host);
    if (this.isOpen)
      this.logger.warn({ host }, 'AUTH is off: every program and person on this machine is served as admin');
    else if (!keyed)
      this.logger.warn('no key exists, so nobody is served; make one: `millrace keys create --role admin`');
  }

  async stop(): Promise<void> {}

  /** Whether requests from this machine need no key: only when AUTH=off was said. */
  get isOpen(): boolean {
    return this.config.AUTH === 'off' && isLoopbackAddress(this.service.HOST);
  }

  /**
   * The owner of a presented key; null when there is none. A right key is never made to wait for others' wrong ones;
   * guesses wait, counted by address and by the key they are about, and no right key in between makes up for them.
   */
  async identify(presented: string, ip: string): Promise<Identified | null> {
    const found = await this.lookUp(presented);
    if (found) return found;
    const guessed = [`ip ${ip}`, `key ${apiKeyId(presented) ?? ENVIRONMENT_KEY}`];
    const waitMs = Math.max(...guessed.map((what) => this.penalties.waitMs(what)));
    for (const what of guessed) this.penalties.punish(what);
    this.logger.warn({ ip, event: 'authn_login_fail' }, 'a key was refused');
    if (waitMs > 0) throw tooManyRequests(waitMs);
    return null;
  }

  /** The owner of a session cookie and the hash of its page's token; null when the session or its key has ended. */
  async identifySession(cookie: string): Promise<{ who: Identified; csrfHash: string } | null> {
    const session = await this.keys.findSession(hashSecret(cookie));
    if (!session || session.expiresAt <= this.clock.now()) return null;
    const who = await this.ownerOf(session.keyId);
    return who && { who, csrfHash: session.csrfHash };
  }

  /** The owner of a sign-in code, which thereby ends; null when it was used, has expired, or never was. */
  async redeem(code: string): Promise<Identified | null> {
    const keyId = await this.keys.takeCode(hashSecret(code), this.clock.now());
    return keyId === null ? null : this.ownerOf(keyId);
  }

  private async lookUp(presented: string): Promise<Identified | null> {
    // What has not the form of our keys can only be ADMIN_KEY.
    const id = apiKeyId(presented) ?? ENVIRONMENT_KEY;
    if (id === ENVIRONMENT_KEY && !this.settled) throw unavailable();
    const stored = await this.keys.find(id);
    const matches = secretMatches(presented, stored?.keyHash ?? NO_KEY_HASH);
    return stored && matches && this.isUsable(stored) ? this.owner(stored) : null;
  }

  private async ownerOf(keyId: string): Promise<Identified | null> {
    const stored = await this.keys.find(keyId);
    return stored && this.isUsable(stored) ? this.owner(stored) : null;
  }

  private isUsable({ revokedAt, expiresAt }: StoredApiKey): boolean {
    return revokedAt === null && (expiresAt === null || expiresAt > this.clock.now());
  }

  private owner({ id, name, role, queues }: StoredApiKey): Identified {
    const now = this.clock.now();
    if (now - (this.touched.get(id) ?? 0) > TOUCH_EVERY_MS) {
      this.touched.set(id, now);
      this.keys
        .touch(id, now)
        .catch((error: unknown) => this.logger.debug({ err: error }, 'last use not recorded'));
    }
    return { keyId: id, name, role, queues };
  }
}

const FREE_FAILURES = 5;
const BASE_MS = 1_000;
const MAX_MS = 5 * 60_000;
const FORGET_MS = 15 * 60_000;
const MAX_ADDRESSES = 10_000;

/** Makes wrong keys wait, twice as long each time, by what they have in common. Bounded in memory: the oldest are forgotten. */
export class Penalties {
  private readonly records = new Map<string, { failures: number; until: number }>();

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /** How long the next wrong key still has to wait. */
  waitMs(address: string): number {
    const record = this.records.get(address);
    return record ? Math.max(0, record.until - this.clock.monotonic()) : 0;
  }

  punish(address: string): void {
    const record = this.records.get(address);
    const isOld = record !== undefined && this.clock.monotonic() - record.until > FORGET_MS;
    const failures = (isOld ? 0 : (record?.failures ?? 0)) + 1;
    this.records.delete(address);
    this.records.set(address, { failures, until: this.clock.monotonic() + penaltyMs(failures) });
    const oldest = this.records.size > MAX_ADDRESSES ? this.records.keys().next().value : undefined;
    if (oldest !== undefined) this.records.delete(oldest);
  }
}

export function penaltyMs(failures: number): number {
  return failures <= FREE_FAILURES ? 0 : Math.min(MAX_MS, BASE_MS * 2 ** (failures - FREE_FAILURES - 1));
}
