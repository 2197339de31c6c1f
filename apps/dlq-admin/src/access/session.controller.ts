import { Body, Controller, Delete, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { IsString, Length } from 'class-validator';
import type { Response } from 'express';
import { hashSecret } from '#database';
import type { SessionView } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { Mutations } from '../audit/mutations.service.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { ProblemError, UnavailableProblem } from '../http/problems.js';
import { Needs, Public } from './access.decorators.js';
import { Access, type Identified } from './access.service.js';
import { CurrentCaller, type AuthenticatedRequest, type Caller } from './caller.js';
import { KeysRepository } from './keys.repository.js';
import { RateLimits } from './rate-limits.service.js';
import { csrfTokenOf, newSession } from './session-secret.js';
import { clearSessionCookie, sessionCookie, setSessionCookie } from './session-cookie.js';

export class SignInDto {
  @ApiProperty({ description: 'An API key.' })
  @IsString()
  @Length(1, 512)
  key!: string;
}

/** Signing in with a key, for browsers: the key is exchanged for a cookie that script cannot read. */
@ApiTags('session')
@Controller('api/v1/session')
export class SessionController {
  constructor(
    private readonly access: Access,
    private readonly keys: KeysRepository,
    private readonly limits: RateLimits,
    private readonly mutations: Mutations,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @Needs('viewer')
  @ApiOperation({ summary: 'Who one is, and the CSRF token of a session.' })
  show(@CurrentCaller() caller: Caller, @Req() request: AuthenticatedRequest): SessionView {
    const cookie = caller.mode === 'session' ? sessionCookie(request.headers.cookie) : null;
    return {
      mode: caller.mode,
      name: caller.name,
      role: caller.role,
      queues: caller.queues ? [...caller.queues] : null,
      csrfToken: cookie === null ? (caller.mode === 'loopback' ? 'loopback' : null) : csrfTokenOf(cookie),
      expiresAt: null,
    };
  }

  @Post()
  @HttpCode(200)
  @Public()
  @ApiOperation({ summary: 'Sign in with a key.' })
  async signIn(
    @Body() { key }: SignInDto,
    @Req() request: AuthenticatedRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionView> {
    const ip = request.ip ?? 'unknown';
    await this.limits.take('login', ip);
    const who = await this.owner(key, ip);
    const { cookie, csrf, idHash, csrfHash } = newSession();
    const now = this.clock.now();
    const expiresAt = now + this.config.SESSION_TTL_MS;
    await this.mutations.perform({
      caller: { ...who, mode: 'session', ip },
      action: 'session.begin',
      target: `key:${who.keyId}`,
      request: {},
      run: async (tx) => {
        await this.keys.addSession(tx, idHash, { keyId: who.keyId, csrfHash, expiresAt }, now);
        return { answer: true };
      },
    });
    response.set('Set-Cookie', setSessionCookie(cookie, this.config.SESSION_TTL_MS));
    const { name, role, queues } = who;
    return { mode: 'session', name, role, queues: queues ? [...queues] : null, csrfToken: csrf, expiresAt };
  }

  @Delete()
  @HttpCode(200)
  @Needs('viewer')
  @ApiOperation({ summary: 'Sign out.' })
  async signOut(
    @CurrentCaller() caller: Caller,
    @Req() request: AuthenticatedRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<{ signedOut: boolean }> {
    const cookie = sessionCookie(request.headers.cookie);
    await this.mutations.perform({
      caller,
      action: 'session.end',
      target: `key:${caller.keyId}`,
      request: {},
      run: async (tx) => {
        if (cookie !== null) await this.keys.endSession(tx, hashSecret(cookie));
        return { answer: true };
      },
    });
    response.set('Set-Cookie', clearSessionCookie());
    return { signedOut: true };
  }

  private async owner(key: string, ip: string): Promise<Identified> {
    const who = await this.access.identify(key, ip).catch((error: unknown) => {
      throw error instanceof ProblemError ? error : new UnavailableProblem(error);
    });
    if (!who)
      throw new ProblemError(401, 'UNAUTHORIZED', 'this key is not known, has expired or was revoked');
    return who;
  }
}
