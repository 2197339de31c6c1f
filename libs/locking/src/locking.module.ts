import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type ModuleMetadata,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import { CLOCK, IDENTITY, LOGGER, type Clock, type Identity, type Logger, Metrics } from '#service';
import { LockService, type LockServiceOptions } from './lock.service.js';

/** What an app decides; who it is and where it logs and counts comes from the service module. */
type LockingOptions = Omit<LockServiceOptions, 'workerId' | 'logger' | 'metrics' | 'clock'>;

interface LockingModuleOptions {
  imports?: ModuleMetadata['imports'];
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...args: never[]) => LockingOptions | Promise<LockingOptions>;
}

const OPTIONS = Symbol('locking options');

/** Gives every module the one LockService of the process. It does not connect: the lifecycle starts and stops it. */
@Module({})
export class LockingModule {
  static forRootAsync({ imports, inject, useFactory }: LockingModuleOptions): DynamicModule {
    return {
      module: LockingModule,
      global: true,
      imports: imports ?? [],
      providers: [
        { provide: OPTIONS, inject: inject ?? [], useFactory },
        {
          provide: LockService,
          inject: [OPTIONS, IDENTITY, LOGGER, Metrics, CLOCK],
          useFactory: (
            options: LockingOptions,
            { workerId }: Identity,
            logger: Logger,
            metrics: Metrics,
            clock: Clock,
          ) => new LockService({ ...options, workerId, logger, metrics, clock }),
        },
      ],
      exports: [LockService],
    };
  }
}
