import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import type { ConfigGroups, Configuration } from '#config';
import { systemClock } from './clock.js';
import { HealthController } from './health.controller.js';
import type { Identity } from './identity.js';
import { Lifecycle } from './lifecycle.js';
import type { Logger } from './logger.js';
import { ServiceConfig } from './service.config.js';
import { Metrics } from './metrics.js';
import { CLOCK, IDENTITY, LOGGER, PROCESS_LOGGER } from './tokens.js';
import { TypedConfigModule } from './typed-config.module.js';

interface ServiceModuleOptions<G extends ConfigGroups> {
  logger: Logger;
  metrics: Metrics;
  identity: Identity;
  lifecycle: Lifecycle;
  groups: G;
  config: Configuration<G>;
}

/** What every app has: its probes and metrics; for all its modules the log, clock, identity and configuration. */
@Module({})
export class ServiceModule {
  static forRoot<G extends ConfigGroups>(options: ServiceModuleOptions<G>): DynamicModule {
    const { logger, metrics, identity, lifecycle, groups, config } = options;
    const providers = [
      { provide: LOGGER, useValue: logger },
      { provide: PROCESS_LOGGER, useValue: logger },
      { provide: Metrics, useValue: metrics },
      { provide: IDENTITY, useValue: identity },
      { provide: CLOCK, useValue: systemClock },
      { provide: Lifecycle, useValue: lifecycle },
      { provide: ServiceConfig, useValue: config.service },
    ] satisfies Provider[];
    return {
      module: ServiceModule,
      global: true,
      imports: [
        TypedConfigModule.forRoot(groups, config),
        DiscoveryModule,
        TerminusModule.forRoot({ logger: false }),
      ],
      controllers: [HealthController],
      providers,
      exports: providers.map(({ provide }) => provide),
    };
  }
}
