import type { ConfigGroups, Configuration } from './load.js';
import { keysOf, type ConfigClass, type KeySpec } from './key.js';
import { masked } from './mask.js';

/** The configuration in force, by key, secrets masked: what `--print-config` shows. */
export function printable<G extends ConfigGroups>(
  groups: G,
  config: Configuration<G>,
): Record<string, unknown> {
  const rows = Object.entries(groups).flatMap(([name, type]) =>
    describeKeys(type).map(
      (spec) =>
        [spec.name, masked(spec, (config[name] as Record<string, unknown>)[spec.name]) ?? null] as const,
    ),
  );
  return Object.fromEntries(rows.sort(([a], [b]) => a.localeCompare(b)));
}

export function describeKeys(type: ConfigClass): KeySpec[] {
  return keysOf(type).filter(({ hidden }) => !hidden);
}
