import { Module, type DynamicModule, type Provider, type Type } from '@nestjs/common';
import { ConfigModule, registerAs } from '@nestjs/config';
import { DiscoveryModule } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import type { ConfigGroups, Configuration } from '#config';
import { systemClock } from './clock.js';
import { HealthController } from './health.controller.js';
import { Lifecycle } from './lifecycle.js';
import type { Logger } from './logger.js';
import { Metrics } from './metrics.js';
import { ServiceConfig } from './service.config.js';
import { CLOCK, IDENTITY, LOGGER, PROCESS_LOGGER, type Identity } from './tokens.js';

/** What a process has before its modules are made. */
export interface ProcessContext {
  logger: Logger;
  metrics: Metrics;
  identity: Identity;
}

// All sources were read before. Left to itself the module copies `.env` into the process's environment, where every child
// inherits its secrets.
const READS_NOTHING = { ignoreEnvFile: true, ignoreEnvVars: true, skipProcessEnv: true };

/**
 * What every app has: its probes and metrics; for all its modules the log, clock, identity and configuration. The checked
 * configuration goes through Nest's own ConfigModule: each group is a namespace of it (`ConfigService.get('batcher.OPEN_BINS')`),
 * and what consumers inject is the group's class, typed.
 */
@Module({})
export class ServiceModule {
  static forRoot<G extends ConfigGroups>(
    { logger, metrics, identity }: ProcessContext,
    lifecycle: Lifecycle,
    groups: G,
    config: Configuration<G>,
  ): DynamicModule {
    const load = Object.keys(groups).map((name) => registerAs(name, () => config[name] as object));
    const providers = [
      { provide: LOGGER, useValue: logger },
      { provide: PROCESS_LOGGER, useValue: logger },
      { provide: Metrics, useValue: metrics },
      { provide: IDENTITY, useValue: identity },
      { provide: CLOCK, useValue: systemClock },
      { provide: Lifecycle, useValue: lifecycle },
      // An app's own may be a subclass with other defaults.
      { provide: ServiceConfig, useValue: config.service },
      ...Object.entries(groups).map(([name, provide]) => ({ provide, useValue: config[name] })),
    ] satisfies Provider[];
    const configuration = ConfigModule.forRoot({ load, ...READS_NOTHING, isGlobal: true, cache: true });
    const imports = [configuration, DiscoveryModule, TerminusModule.forRoot({ logger: false })];
    const exports = providers.map(({ provide }) => provide);
    const controllers = [HealthController];
    return { module: ServiceModule, global: true, imports, controllers, providers, exports };
  }
}

@Module({})
class RoleModule {}

/** The module of an app as one of several in a process: what its parts log carries the name of the role. */
export function inRole(role: string, module: Type): DynamicModule {
  const useFactory = (logger: Logger): Logger => logger.child({ role });
  const providers = [{ provide: LOGGER, inject: [PROCESS_LOGGER], useFactory }];
  return { module, imports: [{ module: RoleModule, providers, exports: [LOGGER] }] };
}
