import { describeKeys, type ConfigGroups, type Configuration } from './key.js';
import { masked } from './mask.js';

/** The one place that reads the process's environment. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env;
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
