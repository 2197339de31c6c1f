import { Body, Delete, Inject, Req, Res } from '@nestjs/common';
import { Changes, Reads, Routes } from '../http/route.js';
import { Matches, ValidateIf } from 'class-validator';
import type { Response } from 'express';
import { hashSecret, type EntityManager } from '#database';
import type { SessionView, SignInCode } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { Mutations } from '../audit/mutations.service.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { Required, text } from '../http/field.js';
import { conflict, ProblemError, unavailable } from '../http/problems.js';
import { Access, type Identified } from './access.service.js';
import { CurrentCaller, type AuthenticatedRequest, type Caller } from './caller.js';
import { KeysRepository } from './keys.repository.js';
import { RateLimits } from './rate-limits.service.js';
import { newSecret, sessionCookie, setSessionCookie } from './sessions.js';

const CODE = /^[\w-]{43}$/;
/** A field that must be there unless the other is. */
const Without = (other: 'code' | 'key', told: object, ...checks: PropertyDecorator[]): PropertyDecorator =>
  Required(
    { ...told, required: false },
    ValidateIf((dto: SignInDto) => dto[other] === undefined),
    ...checks,
  );

class SignInDto {
  @Without('code', { description: 'An API key. Either this or a code.' }, ...text(1, 512)) key?: string;
  @Without('key', { description: 'A sign-in code, which works once.' }, Matches(CODE)) code?: string;
}

const CODE_TTL_MS = 3_600_000;

/** Signing in with a key, for browsers: the key is exchanged for a cookie that script cannot read. */
@Routes('session')
export class SessionController {
  constructor(
    private readonly access: Access,
    private readonly keys: KeysRepository,
    private readonly limits: RateLimits,
    private readonly mutations: Mutations,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Reads('', 'viewer', 'Who one is. The token of a session is told at its beginning only.')
  show(@CurrentCaller() caller: Caller): SessionView {
    return viewOf(caller, caller.mode === 'loopback' ? 'loopback' : null, null);
  }

  @Changes('codes', 'viewer', 'Make a code that signs a browser in once, as the key that asks.', 201)
  createCode(@CurrentCaller() caller: Caller): Promise<SignInCode> {
    if (caller.mode === 'loopback') throw conflict('AUTH_OFF', 'AUTH is off: nobody needs to sign in');
    if (caller.keyId.startsWith('oidc:'))
      throw conflict('NOT_A_KEY', 'a sign-in code is made from a key, not from a token');
    const { secret: code, hash: idHash } = newSecret();
    const createdAt = this.clock.now();
    const expiresAt = createdAt + CODE_TTL_MS;
    return this.record(caller, 'code', async (tx) => {
      await this.keys.addCode(tx, { idHash, keyId: caller.keyId, createdAt, expiresAt });
      return { code, expiresAt };
    });
  }

  @Changes('', 'public', 'Sign in with a key, or with a code that works once.')
  async signIn(
    @Body() secret: SignInDto,
    @Req() request: AuthenticatedRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionView> {
    const ip = request.ip ?? 'unknown';
    const caller: Caller = { ...(await this.owner(secret, ip)), mode: 'session', ip };
    const [cookie, csrf] = [newSecret(), newSecret()];
    const createdAt = this.clock.now();
    const expiresAt = createdAt + this.config.SESSION_TTL_MS;
    const session = { idHash: cookie.hash, csrfHash: csrf.hash, keyId: caller.keyId, createdAt, expiresAt };
    await this.record(caller, 'begin', (tx) => this.keys.addSession(tx, session));
    response.set('Set-Cookie', setSessionCookie(cookie.secret, this.config.SESSION_TTL_MS));
    return viewOf(caller, csrf.secret, expiresAt);
  }

  @Changes('', 'viewer', 'Sign out.', 200, Delete)
  async signOut(
    @CurrentCaller() caller: Caller,
    @Req() request: AuthenticatedRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<{ signedOut: boolean }> {
    const cookie = sessionCookie(request.headers.cookie);
    await this.record(caller, 'end', async (tx) => {
      if (cookie !== null) await this.keys.endSession(tx, hashSecret(cookie));
    });
    response.set('Set-Cookie', setSessionCookie('', 0));
    return { signedOut: true };
  }

  private record<T>(caller: Caller, what: string, run: (tx: EntityManager) => Promise<T>): Promise<T> {
    const mutation = { caller, action: `session.${what}`, target: `key:${caller.keyId}` };
    return this.mutations.perform(mutation, async (tx) => ({ answer: await run(tx) }));
  }

  private async owner({ key, code }: SignInDto, ip: string): Promise<Identified> {
    const asked = code === undefined ? this.access.identify(key ?? '', ip) : this.access.redeem(code);
    const who = await asked.catch((error: unknown) => {
      throw error instanceof ProblemError ? error : unavailable(error);
    });
    if (who) return who;
    await this.limits.take('login', ip);
    const spent = 'this code was used or has expired; ask for another';
    const detail = code === undefined ? 'this key is not known, has expired or was revoked' : spent;
    throw new ProblemError(401, 'UNAUTHORIZED', detail);
  }
}

function viewOf(caller: Caller, csrfToken: string | null, expiresAt: number | null): SessionView {
  const { mode, name, role, queues } = caller;
  return { mode, name, role, queues: queues && [...queues], csrfToken, expiresAt };
}
