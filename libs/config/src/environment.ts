import { ConfigError } from './errors.js';
import { describeKeys, type ConfigGroups, type Configuration } from './key.js';
import { loadSharedConfig, type AppConfigurations } from './load.js';
import { masked } from './mask.js';

const EX_CONFIG = 78;

/** The one place that reads the process's environment. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/**
 * For the first line of a program: the checked configuration, or every fault on standard error and exit code 78.
 * With `--print-config` among the arguments it prints the configuration in force (secrets masked) and exits 0.
 */
export async function configOrExit<G extends ConfigGroups>(
  groups: G,
  argv: readonly string[],
  apps: AppConfigurations = {},
): Promise<Configuration<G>> {
  try {
    const config = await loadSharedConfig(groups, { env: environment(), cwd: process.cwd() }, apps);
    if (!argv.includes('--print-config')) return config;
    process.stdout.write(`${JSON.stringify(printable(groups, config), null, 2)}\n`);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(EX_CONFIG);
  }
}

/** The configuration in force, by key, secrets masked: what `--print-config` shows. */
export function printable<G extends ConfigGroups>(
  groups: G,
  config: Configuration<G>,
): Record<string, unknown> {
  const rows = Object.entries(groups).flatMap(([name, type]) => {
    const values = config[name] as Record<string, unknown>;
    return describeKeys(type).map((spec) => [spec.name, masked(spec, values[spec.name]) ?? null] as const);
  });
  return Object.fromEntries(rows.sort(([a], [b]) => a.localeCompare(b)));
}
