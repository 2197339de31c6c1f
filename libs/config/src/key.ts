import 'reflect-metadata';

export type Kind = 'string' | 'integer' | 'boolean' | 'list';
type Value = string | number | boolean | readonly string[] | undefined;

export interface KeySpec {
  name: string;
  /** One line for the reference: what it does, in which unit. */
  meaning: string;
  /** How a text becomes a value. */
  kind: Kind;
  /** What its rules allow, in words. */
  allowed: string;
  /** Without a default (and not optional) the key must be given. */
  default?: Value;
  optional?: boolean;
  /** Never shown; `url` hides only the credentials inside the address. */
  secret?: boolean | 'url';
  /** For tests: in no reference. */
  hidden?: boolean;
}

interface Rule {
  keys: readonly string[];
  rule: string;
  holds: (config: object) => boolean;
}

/** A class whose fields are configuration keys. */
export type ConfigClass<T extends object = object> = new () => T;
/** The groups of keys that an app uses, by name of its choice. */
export type ConfigGroups = Record<string, ConfigClass>;
export type Configuration<G extends ConfigGroups> = { [K in keyof G]: InstanceType<G[K]> };

const KEYS = Symbol('config keys');
const RULES = Symbol('config rules');

/** Marks a field as a configuration key. One declared again (another default, say) counts as the subclass declares it. */
export function addKey(target: object, spec: KeySpec): void {
  const others = listOf<KeySpec>(KEYS, target).filter(({ name }) => name !== spec.name);
  Reflect.defineMetadata(KEYS, [...others, spec], target);
}

/** A rule over several keys of one class; `keys` are named in the fault. */
export function CrossRule<T extends object>(
  keys: (keyof T & string)[],
  rule: string,
  holds: (config: T) => boolean,
) {
  return ({ prototype }: ConfigClass<T>): void =>
    Reflect.defineMetadata(RULES, [...listOf(RULES, prototype), { keys, rule, holds }], prototype as object);
}

/** The keys of a class and its bases. */
export const keysOf = (type: ConfigClass): KeySpec[] => listOf(KEYS, type.prototype);
export const rulesOf = (type: ConfigClass): Rule[] => listOf(RULES, type.prototype);

/** Those for people to know of. */
export const describeKeys = (type: ConfigClass): KeySpec[] => keysOf(type).filter(({ hidden }) => !hidden);

/** All that may be given to these groups: their keys, and the names of files that hold a secret one. */
export function settingNames(apps: readonly ConfigGroups[]): string[] {
  const keys = apps.flatMap((groups) => Object.values(groups).flatMap(keysOf));
  return keys.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name]));
}

// Metadata is inherited: a class begins with that of its base.
function listOf<T>(name: symbol, target: unknown): T[] {
  return (Reflect.getMetadata(name, target as object) as T[] | undefined) ?? [];
}
