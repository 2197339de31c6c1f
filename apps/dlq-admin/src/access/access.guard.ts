import { CanActivate, ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Role } from '#dlq-client';
import { errorKind, secretMatches } from '#database';
import { LOGGER, type Logger } from '#service';
import { forbidden, ProblemError, unavailable } from '../http/problems.js';
import { ROLE, type Least } from '../http/route.js';
import { Access } from './access.service.js';
import { mayAct, type AuthenticatedRequest, type Caller } from './caller.js';
import { IdentityTokens } from './identity-tokens.js';
import { isLoopbackAddress, isLoopbackHost, isSafe } from './origin.js';
import { RateLimits } from './rate-limits.service.js';
import { sessionCookie } from './sessions.js';

const PROXY_HEADER = /^(forwarded|via|x-forwarded-.*|x-real-ip)$/;

function unauthorized(): ProblemError {
  const detail = 'this needs a key: send it as `Authorization: Bearer <key>`, or sign in';
  const headers = { 'WWW-Authenticate': 'Bearer realm="millrace dlq-admin"' };
  return new ProblemError(401, 'UNAUTHORIZED', detail, { headers });
}

/**
 * Stands before every route of the process, probes excepted. Closed by default: a route without a declared role is for
 * admins, and a caller who cannot be checked is not let in.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly access: Access,
    private readonly limits: RateLimits,
    private readonly tokens: IdentityTokens,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const role = this.roleOf(context, request);
    if (role === 'public') return true;
    const caller = (request.caller ??= await this.identify(request));
    await this.limits.take('key', caller.keyId);
    this.requireRole(caller, role, request);
    return true;
  }

  /**
   * The limit of an address, before anything of a body is read. It is for those without a key: one who passes it is looked at
   * first, so that nobody's flood locks a right key out. Signing in has limits of its own, for wrong keys only.
   */
  async admit(request: AuthenticatedRequest): Promise<void> {
    const { path, method, ip = 'unknown' } = request;
    if (path.startsWith('/health/') || (method === 'POST' && path === '/api/v1/session')) return;
    try {
      await this.limits.take('address', ip);
    } catch (problem) {
      request.caller = await this.identify(request).catch(() => {
        throw problem;
      });
    }
  }

  /** Probes and metrics come from the service library, which knows no roles. */
  private roleOf(context: ExecutionContext, { path }: AuthenticatedRequest): Least {
    if (path.startsWith('/health/')) return 'public';
    const places = [context.getHandler(), context.getClass()];
    const declared = this.reflector.getAllAndOverride<Least | undefined>(ROLE, places);
    return declared ?? (path === '/metrics' ? 'viewer' : 'admin');
  }

  /** Who asks, as the keys are now. Throws a problem when nobody can say so. */
  async identify(request: AuthenticatedRequest): Promise<Caller> {
    try {
      return await this.callerOf(request);
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      const facts = { err: error, kind: errorKind(error) };
      this.logger.error(facts, 'callers cannot be checked; nobody is let in');
      throw unavailable(error);
    }
  }

  private async callerOf(request: AuthenticatedRequest): Promise<Caller> {
    const ip = request.ip ?? 'unknown';
    const { authorization } = request.headers;
    if (authorization !== undefined) return this.byKey(authorization, ip);
    const cookie = sessionCookie(request.headers.cookie);
    if (cookie !== null) return this.bySession(cookie, request, ip);
    if (this.access.isOpen) return this.fromThisMachine(request, ip);
    throw unauthorized();
  }

  private async byKey(authorization: string, ip: string): Promise<Caller> {
    const presented = /^Bearer ([\x21-\x7e]{1,8000})$/i.exec(authorization)?.[1] ?? '';
    const who = this.tokens.isOne(presented)
      ? await this.tokens.identify(presented)
      : await this.access.identify(presented, ip);
    if (!who) throw unauthorized();
    return { ...who, mode: 'key', ip };
  }

  private async bySession(cookie: string, request: AuthenticatedRequest, ip: string): Promise<Caller> {
    const session = await this.access.identifySession(cookie);
    if (!session) throw unauthorized();
    // Browsers send the cookie to every port of a host; the page's token stays with the page's own origin.
    if (!secretMatches(csrfHeader(request), session.csrfHash))
      throw isSafe(request.method)
        ? unauthorized()
        : forbidden('CSRF', 'the X-CSRF-Token header is missing or wrong; sign in again');
    return { ...session.who, mode: 'session', ip };
  }

  /** With AUTH=off, only this machine's own programs and pages; a proxy in front would make everybody look local. */
  private fromThisMachine(request: AuthenticatedRequest, ip: string): Caller {
    const { headers, socket, method } = request;
    const isProxied = Object.keys(headers).some((name) => PROXY_HEADER.test(name));
    if (!isLoopbackAddress(socket.remoteAddress ?? '') || isProxied) throw unauthorized();
    if (!isLoopbackHost(headers.host))
      throw forbidden('HOST', 'without a key, only requests to a loopback name are served');
    if (!isSafe(method) && headers['x-millrace-client'] === undefined && csrfHeader(request) === '')
      throw forbidden('CSRF', 'without a key, changes need X-CSRF-Token or X-Millrace-Client');
    return { mode: 'loopback', keyId: 'loopback', name: 'this machine', role: 'admin', queues: null, ip };
  }

  private requireRole(caller: Caller, role: Role, { method, path }: AuthenticatedRequest): void {
    if (mayAct(caller, role)) return;
    const facts = { key_id: caller.keyId, role: caller.role, method, path, event: 'authz_fail' };
    this.logger.warn(facts, 'refused by role');
    const detail = `this needs the role ${role}; the key ${caller.keyId} has ${caller.role}`;
    throw forbidden('ROLE', detail);
  }
}

function csrfHeader({ headers }: AuthenticatedRequest): string {
  const value = headers['x-csrf-token'];
  return typeof value === 'string' ? value : '';
}
