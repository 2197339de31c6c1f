import { getMetadataStorage } from 'class-validator';
import type { ConfigGroups, Configuration } from './load.js';
import { keysOf, type ConfigClass, type KeySpec } from './key.js';
import { masked } from './mask.js';

/** The configuration in force, by key, secrets masked: what `--print-config` shows. */
export function printable<G extends ConfigGroups>(
  groups: G,
  config: Configuration<G>,
): Record<string, unknown> {
  const rows = Object.entries(groups).flatMap(([name, type]) =>
    shownKeys(type).map(
      (spec) =>
        [spec.name, masked(spec, (config[name] as Record<string, unknown>)[spec.name]) ?? null] as const,
    ),
  );
  return Object.fromEntries(rows.sort(([a], [b]) => a.localeCompare(b)));
}

function shownKeys(type: ConfigClass): KeySpec[] {
  return keysOf(type).filter(({ hidden }) => !hidden);
}

export interface KeyDescription extends KeySpec {
  /** What the validators allow, in words. */
  allowed: string;
}

export function describeKeys(type: ConfigClass): KeyDescription[] {
  return shownKeys(type).map((spec) => ({ ...spec, allowed: allowedValues(type, spec) }));
}

function allowedValues(type: ConfigClass, spec: KeySpec): string {
  const metadata = getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .filter(({ propertyName }) => propertyName === spec.name);
  const bound = (name: string) =>
    metadata.find((entry) => entry.name === name)?.constraints?.[0] as number | string[] | undefined;
  const choices = bound('isIn');
  if (Array.isArray(choices)) return choices.join(', ');
  const [min, max] = [bound('min'), bound('max')];
  const range = [min !== undefined && `≥ ${String(min)}`, max !== undefined && `≤ ${String(max)}`]
    .filter(Boolean)
    .join(', ');
  return [spec.kind === 'list' ? 'list, comma-separated' : spec.kind, range].filter(Boolean).join(' ');
}
