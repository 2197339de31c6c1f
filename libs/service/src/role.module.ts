import { Module, type DynamicModule, type Type } from '@nestjs/common';
import type { Logger } from './logger.js';
import { LOGGER, PROCESS_LOGGER } from './tokens.js';

@Module({})
class RoleModule {}

/** The module of an app as one of several in a process: what its parts log carries the name of the role. */
export function inRole(role: string, module: Type): DynamicModule {
  const named: DynamicModule = {
    module: RoleModule,
    providers: [
      {
        provide: LOGGER,
        inject: [PROCESS_LOGGER],
        useFactory: (logger: Logger) => logger.child({ role }),
      },
    ],
    exports: [LOGGER],
  };
  return { module, imports: [named] };
}
