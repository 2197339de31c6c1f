import { Inject, Injectable } from '@nestjs/common';
import { apiKeyId, ENVIRONMENT_KEY, hashSecret, secretMatches, type StoredApiKey } from '#database';
import { CLOCK, LOGGER, MillraceError, type Clock, type Logger, type Service } from '#service';
import { DlqAdminConfig, DlqAdminServiceConfig } from '../dlq-admin.config.js';
import { TooManyRequestsProblem } from '../http/problems.js';
import { csrfTokenOf } from './session-secret.js';
import type { Caller } from './caller.js';
import { KeysRepository } from './keys.repository.js';
import { isLoopbackAddress } from './loopback.js';
import { Penalties } from './penalties.js';

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

const OPEN_CHECK_MS = 2_000;
const TOUCH_EVERY_MS = 60_000;
const NO_KEY_HASH = hashSecret('no key has this text');

/**
 * Decides who a secret belongs to. Closed by default: while the database does not answer nobody is let in. Every failure looks the same and takes the same steps, whether the key is unknown or wrong.
 */
@Injectable()
export class Access implements Service {
  readonly name = 'access';
  private readonly penalties: Penalties;
  private open: { value: boolean; until: number } = { value: false, until: -Infinity };
  private readonly touched = new Map<string, number>();

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
    const local = isLoopbackAddress(this.service.HOST);
    await this.keys.setEnvironmentKey(
      this.config.ADMIN_KEY && hashSecret(this.config.ADMIN_KEY),
      this.clock.now(),
    );
    const keyed = await this.keys.anyUsable(this.clock.now());
    if (!local && (!keyed || this.config.AUTH === 'off')) throw new NoKeyError(this.service.HOST);
    if (!keyed || this.config.AUTH === 'off')
      this.logger.warn(
        { host: this.service.HOST },
        'no key is needed: only requests from this machine are served, as admin; create a key to change that',
      );
  }

  async stop(): Promise<void> {}

  /** Whether requests from this machine need no key: there is none, or AUTH is off. */
  async isOpen(): Promise<boolean> {
    if (!isLoopbackAddress(this.service.HOST)) return false;
    if (this.config.AUTH === 'off') return true;
    if (this.open.until < this.clock.monotonic())
      this.open = {
        value: !(await this.keys.anyUsable(this.clock.now())),
        until: this.clock.monotonic() + OPEN_CHECK_MS,
      };
    return this.open.value;
  }

  /** A key was made: from now on one is needed. */
  keyCreated(): void {
    this.open = { value: false, until: -Infinity };
  }

  /** The owner of a presented key; null when there is none. Throws when the address has failed too often. */
  async identify(presented: string, ip: string): Promise<Identified | null> {
    const waitMs = this.penalties.waitMs(ip);
    if (waitMs > 0) throw new TooManyRequestsProblem(waitMs);
    const found = await this.lookUp(presented);
    if (found) this.penalties.forgive(ip);
    else {
      this.penalties.punish(ip);
      this.logger.warn({ ip, event: 'authn_login_fail' }, 'a key was refused');
    }
    return found;
  }

  /** The owner of a session cookie and its CSRF token; null when the session or its key has ended. */
  async identifySession(
    cookie: string,
  ): Promise<{ who: Identified; csrf: string; expiresAt: number } | null> {
    const session = await this.keys.findSession(hashSecret(cookie));
    if (!session || session.expiresAt <= this.clock.now()) return null;
    const who = await this.ownerOf(session.keyId);
    return who && { who, csrf: csrfTokenOf(cookie), expiresAt: session.expiresAt };
  }

  private async lookUp(presented: string): Promise<Identified | null> {
    // What has not the form of our keys can only be ADMIN_KEY.
    const stored = await this.keys.find(apiKeyId(presented) ?? ENVIRONMENT_KEY);
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
