import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { ConfigModule, registerAs } from '@nestjs/config';
import type { ConfigGroups, Configuration } from '#config';

/**
 * Carries the checked configuration through Nest's own ConfigModule: each group is a namespace of it
 * (`ConfigService.get('batcher.OPEN_BINS')`), and what consumers inject is the group's class, typed.
 */
@Module({})
export class TypedConfigModule {
  static forRoot<G extends ConfigGroups>(groups: G, config: Configuration<G>): DynamicModule {
    const namespaces = Object.keys(groups).map((name) => registerAs(name, () => config[name] as object));
    const classes = Object.values(groups).map((type, index): FactoryProvider => {
      return { provide: type, inject: [namespaces[index]?.KEY ?? ''], useFactory: (group: object) => group };
    });
    return {
      module: TypedConfigModule,
      global: true,
      imports: [ConfigModule.forRoot({ load: namespaces, ...READS_NOTHING, isGlobal: true, cache: true })],
      providers: classes,
      exports: classes.map(({ provide }) => provide),
    };
  }
}

// All sources were read before. Left to itself the module copies `.env` into the process's environment, where every child
// inherits its secrets.
const READS_NOTHING = { ignoreEnvFile: true, ignoreEnvVars: true, skipProcessEnv: true };
