import { Controller, Get, Header, Inject } from '@nestjs/common';
import { HealthCheckService, type HealthCheckResult } from '@nestjs/terminus';
import { LIFECYCLE, METRICS } from './tokens.js';
import type { Lifecycle } from './lifecycle.js';
import type { Metrics } from './metrics.js';
import { down, UP, type Health } from './service.js';

/** The probes of an orchestrator, and the metrics of a scraper. */
@Controller()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    @Inject(LIFECYCLE) private readonly lifecycle: Lifecycle,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  @Get('health/live')
  live(): Promise<HealthCheckResult> {
    return this.answer(this.lifecycle.liveness());
  }

  @Get('health/ready')
  async ready(): Promise<HealthCheckResult> {
    return this.answer(await this.lifecycle.readiness());
  }

  @Get('health/startup')
  startup(): Promise<HealthCheckResult> {
    const { state } = this.lifecycle;
    const begun = state === 'started' || state === 'stopping' || state === 'stopped';
    return this.answer({ startup: begun ? UP : down(state) });
  }

  @Get('metrics')
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  scrape(): Promise<string> {
    return this.metrics.text();
  }

  private answer(parts: Record<string, Health>): Promise<HealthCheckResult> {
    return this.health.check(Object.entries(parts).map(([name, health]) => () => ({ [name]: health })));
  }
}
