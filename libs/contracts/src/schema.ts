export interface Fault {
  /** Where in the payload, such as `files[3].tokens`; empty for the payload itself. */
  path: string;
  /** What was there, shortened. */
  found: string;
  /** What is allowed there. */
  rule: string;
}

/** Checks a value and tells every fault, its path from the value; none means that the value has type T. */
export type Check<T> = ((value: unknown) => readonly Fault[]) & { readonly type?: T };
export type TypeOf<C> = C extends Check<infer T> ? T : never;

type Shape = Record<string, Check<unknown>>;
type OptionalKeys<S extends Shape> = { [K in keyof S]: undefined extends TypeOf<S[K]> ? K : never }[keyof S];
type ObjectOf<S extends Shape> = { [K in Exclude<keyof S, OptionalKeys<S>>]: TypeOf<S[K]> } & {
  [K in OptionalKeys<S>]?: TypeOf<S[K]>;
};

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
    return typeof value;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

// Hardly a value has a fault, and thousands are checked for a batch.
const NONE: readonly Fault[] = [];

const faultOf = (value: unknown, rule: string): Fault[] => [{ path: '', found: show(value), rule }];

/** Adds the faults of a part of a value, and says where the part is. */
function add(faults: Fault[], part: readonly Fault[], at: string | number): void {
  for (const { path, found, rule } of part) {
    const start = typeof at === 'number' ? `[${at}]` : at;
    faults.push({ path: /^(\[|$)/.test(path) ? `${start}${path}` : `${start}.${path}`, found, rule });
  }
}

export function string({ min = 0, max }: { min?: number; max: number }): Check<string> {
  const rule = `a string of ${min} to ${max} characters`;
  return (value) =>
    typeof value !== 'string' || value.length < min || value.length > max ? faultOf(value, rule) : NONE;
}

export function integer({ min = 0 } = {}): Check<number> {
  const rule = `a whole number from ${min} to ${Number.MAX_SAFE_INTEGER}`;
  return (value) => (Number.isSafeInteger(value) && (value as number) >= min ? NONE : faultOf(value, rule));
}

export function oneOf<const T extends string>(...allowed: T[]): Check<T> {
  const rule = `one of ${allowed.join(', ')}`;
  return (value) => (allowed.some((item) => item === value) ? NONE : faultOf(value, rule));
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value) => (value === undefined ? NONE : check(value));
}

/** Anything that JSON can hold. */
export const json: Check<unknown> = () => NONE;

export function array<T>(
  item: Check<T>,
  { min = 0, max = 100_000 }: { min?: number; max?: number } = {},
): Check<T[]> {
  const rule = `an array of ${min} to ${max} items`;
  return (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) return faultOf(value, rule);
    const faults: Fault[] = [];
    for (let index = 0; index < value.length; index++) add(faults, item(value[index]), index);
    return faults;
  };
}

/** A list in which no two items have the same value of a field. */
export function distinct<T extends object>(list: Check<T[]>, field: keyof T & string): Check<T[]> {
  return (value) => {
    const faults = [...list(value)];
    if (faults.length > 0) return faults;
    const seen = new Set<unknown>();
    for (const [index, item] of (value as T[]).entries()) {
      const same = seen.has(item[field]) ? faultOf(item[field], 'a value that no other item has') : NONE;
      add(faults, same, `[${index}].${field}`);
      seen.add(item[field]);
    }
    return faults;
  };
}

/** An object with these fields. Unknown fields are allowed, so that a newer sender does not break an older reader. */
export function object<S extends Shape>(shape: S): Check<ObjectOf<S>> {
  const fields = Object.entries(shape);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return faultOf(value, 'an object');
    const faults: Fault[] = [];
    for (const [key, check] of fields)
      add(
        faults,
        check(Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined),
        key,
      );
    return faults;
  };
}
