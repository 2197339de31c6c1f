import { describeKeys, type ConfigGroups } from '#config';

/** What `--help` of a service prints: purpose, flags and every key it reads. */
export function usage(
  name: string,
  description: string,
  groups: ConfigGroups,
  more: Readonly<Record<number, string>> = {},
): string {
  const keys = Object.values(groups)
    .flatMap(describeKeys)
    .sort((a, b) => a.name.localeCompare(b.name));
  const width = Math.max(...keys.map((key) => key.name.length));
  const lines = keys.map(({ name: key, meaning, default: value, optional }) => {
    const note = value !== undefined ? ` [${String(value)}]` : optional ? '' : ' (required)';
    return `  ${key.padEnd(width)}  ${meaning}${note}`;
  });
  return `${name}: ${description}

Usage: ${name} [--help] [--print-config]

Configuration (environment, .env, or the JSON file CONFIG_FILE; see docs/configuration.md):
${[...new Set(lines)].join('\n')}

Exit codes: 0 ended in order, 1 failed, 64 wrong usage, 69 a dependency did not come up, 70 unexpected error,
            75 forced exit after SHUTDOWN_TIMEOUT_MS, 78 invalid configuration
${Object.entries(more)
  .map(([code, meaning]) => `            ${code} ${meaning}\n`)
  .join('')}`;
}
