import { validateSync } from 'class-validator';
import { coerce } from './coerce.js';
import { ConfigError, type ConfigFault } from './errors.js';
import { keysOf, rulesOf, settingNames } from './key.js';
import type { ConfigClass, ConfigGroups, Configuration, KeySpec } from './key.js';
import { masked } from './mask.js';
import { readSecret, readSources, type Source, type SourceOptions } from './sources.js';

/** Every app's groups, by its name; loaded only where needed. */
export type AppConfigurations = Readonly<Record<string, () => Promise<ConfigGroups>>>;

/**
 * As `loadConfig`, from a JSON file that may serve several apps: a key is unknown when none of them knows it. The others
 * are asked only when the file holds a key that this app does not know.
 */
export async function loadSharedConfig<G extends ConfigGroups>(
  groups: G,
  options: SourceOptions,
  apps: AppConfigurations,
): Promise<Configuration<G>> {
  const sources = readSources(options);
  const foreign = unknownKeys(sources, [groups]).length > 0;
  const others = foreign ? await Promise.all(Object.values(apps).map((load) => load())) : [];
  return check(groups, sources, others);
}

/** Reads, merges and checks all groups of an app. Throws one ConfigError with every fault. Opens nothing. */
export function loadConfig<G extends ConfigGroups>(groups: G, options: SourceOptions): Configuration<G> {
  return check(groups, readSources(options), []);
}

function check<G extends ConfigGroups>(
  groups: G,
  sources: readonly Source[],
  others: readonly ConfigGroups[],
): Configuration<G> {
  const faults = unknownKeys(sources, [groups, ...others]);
  const entries = Object.entries(groups).map(
    ([name, type]) => [name, loadGroup(type, sources, faults)] as const,
  );
  // Two groups of an app may share a key; its fault is one fault.
  const unique = new Map(faults.map((fault) => [`${fault.key}\n${fault.rule}`, fault]));
  if (unique.size > 0) throw new ConfigError([...unique.values()]);
  return Object.fromEntries(entries) as Configuration<G>;
}

function loadGroup(type: ConfigClass, sources: readonly Source[], faults: ConfigFault[]): object {
  const config = new type() as Record<string, unknown>;
  const origins = new Map<string, string>();
  for (const spec of keysOf(type)) {
    const given = find(spec, sources);
    origins.set(spec.name, given?.label ?? 'default');
    const value = given ? coerce(given.value, spec.kind) : structuredClone(spec.default);
    if (value !== undefined) config[spec.name] = value;
    else if (!spec.optional)
      faults.push({
        key: spec.name,
        found: undefined,
        origin: 'none',
        rule: `must be given: ${spec.meaning}`,
      });
  }
  faults.push(...invalidKeys(type, config, origins));
  return config;
}

/** The value of the first source that has the key. A secret may also be named by `<KEY>_FILE`, as container secrets are. */
function find({ name, secret }: KeySpec, sources: readonly Source[]) {
  for (const { values, label } of sources) {
    if (Object.hasOwn(values, name)) return { label, value: values[name] };
    const file = `${name}_FILE`;
    const path = values[file];
    if (secret && Object.hasOwn(values, file))
      return { label: file, value: readSecret(file, typeof path === 'string' ? path : JSON.stringify(path)) };
  }
  return undefined;
}

function invalidKeys(
  type: ConfigClass,
  config: Record<string, unknown>,
  origins: Map<string, string>,
): ConfigFault[] {
  const specs = new Map(keysOf(type).map((spec) => [spec.name, spec]));
  const fault = (key: string, rule: string): ConfigFault => ({
    key,
    found: JSON.stringify(masked(specs.get(key) ?? {}, config[key])) ?? 'undefined',
    origin: origins.get(key) ?? 'default',
    rule,
  });
  const single = validateSync(config, { skipMissingProperties: true, forbidUnknownValues: false }).map(
    (error) => fault(error.property, Object.values(error.constraints ?? {}).join('; ')),
  );
  if (single.length > 0) return single;
  return rulesOf(type)
    .filter(({ holds }) => !holds(config))
    .flatMap(({ keys, rule }) => keys.map((key) => fault(key, rule)));
}

function unknownKeys(sources: readonly Source[], apps: readonly ConfigGroups[]): ConfigFault[] {
  const known = settingNames(apps);
  return sources.flatMap(({ values, label, ours }) =>
    Object.keys(ours ? values : {})
      .filter((key) => !known.includes(key))
      .map((key) => ({ key, found: 'an unknown key', origin: label, rule: suggestion(key, known) })),
  );
}

function suggestion(key: string, known: readonly string[]): string {
  const most = Math.max(2, key.length / 3);
  const [best] = known
    .filter(({ length }) => Math.abs(length - key.length) <= most)
    .map((name) => ({ name, distance: editDistance(key.toUpperCase(), name.toUpperCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return best && best.distance <= most
    ? `did you mean ${best.name}?`
    : 'remove it, or see docs/configuration.md for the keys there are';
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swap);
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
