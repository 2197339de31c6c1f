import { Controller, Get, Header, Req, UnauthorizedException } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HealthCheckService, type HealthCheckResult } from '@nestjs/terminus';
import { Lifecycle } from './lifecycle.js';
import { ServiceConfig } from './service.config.js';
import { Metrics } from './metrics.js';
import { down, UP, type Health } from './service.js';

/** The probes of an orchestrator, and the metrics of a scraper. */
@Controller()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly config: ServiceConfig,
    private readonly lifecycle: Lifecycle,
    private readonly metrics: Metrics,
  ) {}

  @Get('health/live')
  live(@Req() request: IncomingMessage): Promise<HealthCheckResult> {
    return this.answer(this.lifecycle.liveness(), request);
  }

  @Get('health/ready')
  async ready(@Req() request: IncomingMessage): Promise<HealthCheckResult> {
    return this.answer(await this.lifecycle.readiness(), request);
  }

  @Get('health/startup')
  startup(@Req() request: IncomingMessage): Promise<HealthCheckResult> {
    const { state } = this.lifecycle;
    const begun = state === 'started' || state === 'stopping' || state === 'stopped';
    return this.answer({ startup: begun ? UP : down(state) }, request);
  }

  @Get('metrics')
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  scrape(@Req() request: IncomingMessage): Promise<string> {
    const { METRICS_KEY } = this.config;
    // One who has shown an API key (dlq-admin's guard has set the caller) need not show another.
    const isKnown = 'caller' in request || METRICS_KEY === undefined;
    if (!isKnown && !isSame(request.headers.authorization ?? '', `Bearer ${METRICS_KEY}`))
      throw new UnauthorizedException('send METRICS_KEY as `Authorization: Bearer <key>`');
    return this.metrics.text();
  }

  /** Reasons name hosts and ports of stores: they are for this machine and the log. Others learn which part is down. */
  private answer(parts: Record<string, Health>, request: IncomingMessage): Promise<HealthCheckResult> {
    const told = isFromHere(request)
      ? (health: Health) => health
      : ({ status }: Health) => ({ status }) as Health;
    return this.health.check(Object.entries(parts).map(([name, health]) => () => ({ [name]: told(health) })));
  }
}

function isFromHere({ socket, headers }: IncomingMessage): boolean {
  const isLocal = /^(::1|(::ffff:)?127\..*)$/.test(socket.remoteAddress ?? '');
  return isLocal && !['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'].some((name) => name in headers);
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHash('sha256').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
