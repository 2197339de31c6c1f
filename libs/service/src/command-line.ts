import { ConfigError, describeKeys, environment, loadSharedConfig, printable } from '#config';
import type { AppConfigurations, ConfigGroups, Configuration } from '#config';
import { EXIT } from './errors.js';

export interface Program<G extends ConfigGroups> {
  name: string;
  description: string;
  config: G;
  /** All apps that may share a configuration file with this one. */
  apps?: AppConfigurations;
  /** Exit codes of its own, with their meaning, for `--help`. */
  exitCodes?: Readonly<Record<number, string>>;
}

/**
 * For the first line of a program: its checked configuration, or every fault on standard error and exit code 78. With
 * `--help` or `--print-config` (secrets masked) it prints that and exits 0.
 */
export async function configOrExit<G extends ConfigGroups>(program: Program<G>): Promise<Configuration<G>> {
  const { name, config: groups, apps = {} } = program;
  const words = process.argv.slice(2);
  const unknown = words.filter((word) => word !== '--print-config');
  if (words.includes('--help')) return exit(EXIT.ok, usage(program));
  if (unknown.length > 0)
    return exit(EXIT.usage, `${name}: unknown argument ${unknown.join(' ')}; see ${name} --help\n`);
  try {
    const config = await loadSharedConfig(groups, { env: environment(), cwd: process.cwd() }, apps);
    if (words.length === 0) return config;
    return exit(EXIT.ok, `${JSON.stringify(printable(groups, config), null, 2)}\n`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return exit(EXIT.config, `${error.message}\n`);
  }
}

function exit(code: number, text: string): never {
  (code === EXIT.ok ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

/** Purpose, flags and every key that is read. */
function usage({ name, description, config, exitCodes = {} }: Program<ConfigGroups>): string {
  const keys = Object.values(config)
    .flatMap(describeKeys)
    .sort((a, b) => a.name.localeCompare(b.name));
  const width = Math.max(...keys.map((key) => key.name.length));
  const lines = keys.map(({ name: key, meaning, default: value, optional }) => {
    const note = value !== undefined ? ` [${String(value)}]` : optional ? '' : ' (required)';
    return `  ${key.padEnd(width)}  ${meaning}${note}`;
  });
  const more = Object.entries(exitCodes).map(([code, meaning]) => `            ${code} ${meaning}\n`);
  return `${name}: ${description}

Usage: ${name} [--help] [--print-config]

Configuration (environment, .env, or the JSON file CONFIG_FILE; see docs/configuration.md):
${[...new Set(lines)].join('\n')}

Exit codes: 0 ended in order, 1 failed, 64 wrong usage, 69 a dependency did not come up, 70 unexpected error,
            75 forced exit after SHUTDOWN_TIMEOUT_MS, 78 invalid configuration
${more.join('')}`;
}
