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

const KEYS = Symbol('config keys');
const RULES = Symbol('config rules');

/** Marks a field as a configuration key: what the decorators of `decorators.ts` have in common. */
export function Key(spec: Omit<KeySpec, 'name'>): PropertyDecorator {
  return (target, property) => {
    ownList<KeySpec>(target, KEYS).push({ ...spec, name: String(property) });
  };
}

/** A rule over several keys of one class; `keys` are named in the fault. */
export function CrossRule<T extends object>(
  keys: (keyof T & string)[],
  rule: string,
  holds: (config: T) => boolean,
) {
  return (target: ConfigClass<T>): void => {
    ownList<Rule>(target.prototype as object, RULES).push({ keys, rule, holds: holds as Rule['holds'] });
  };
}

/** The keys of a class and its bases; a key declared again (another default, say) counts as the subclass declares it. */
export function keysOf(type: ConfigClass): KeySpec[] {
  const keys = new Map<string, KeySpec>();
  for (const prototype of lineage(type))
    for (const spec of (Reflect.getOwnMetadata(KEYS, prototype) as KeySpec[] | undefined) ?? [])
      keys.set(spec.name, spec);
  return [...keys.values()];
}

export function rulesOf(type: ConfigClass): Rule[] {
  return lineage(type).flatMap(
    (prototype) => (Reflect.getOwnMetadata(RULES, prototype) as Rule[] | undefined) ?? [],
  );
}

function lineage(type: ConfigClass): object[] {
  const line: object[] = [];
  for (
    let at = type.prototype as object | null;
    at && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  )
    line.unshift(at);
  return line;
}

function ownList<T>(target: object, name: symbol): T[] {
  if (!Reflect.hasOwnMetadata(name, target)) Reflect.defineMetadata(name, [], target);
  return Reflect.getOwnMetadata(name, target) as T[];
}
