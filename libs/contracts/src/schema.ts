export interface Fault {
  /** Where in the payload, such as `files[3].tokens`; empty for the payload itself. */
  path: string;
  /** What was there, shortened. */
  found: string;
  /** What is allowed there. */
  rule: string;
}

/**
 * Checks a value and reports every fault, its path from the value; no fault means that the value has type T. Whoever checks a
 * part of a value then says where the part is: hardly a value has a fault, and thousands are checked for a batch.
 */
export type Check<T> = ((value: unknown, faults: Fault[]) => void) & { readonly type?: T };
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

const fail = (faults: Fault[], value: unknown, rule: string): void => {
  faults.push({ path: '', found: show(value), rule });
};

/** Says of the faults after the first `known` ones where their value is. */
function place(faults: Fault[], known: number, at: string): void {
  for (const fault of faults.slice(known))
    fault.path = /^(\[|$)/.test(fault.path) ? `${at}${fault.path}` : `${at}.${fault.path}`;
}

export function string({ min = 0, max = 65_536 }: { min?: number; max?: number } = {}): Check<string> {
  const rule = `a string of ${min} to ${max} characters`;
  return (value, faults) => {
    if (typeof value !== 'string' || value.length < min || value.length > max) fail(faults, value, rule);
  };
}

export function integer({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
}: { min?: number; max?: number } = {}): Check<number> {
  const rule = `a whole number from ${min} to ${max}`;
  return (value, faults) => {
    if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
      fail(faults, value, rule);
  };
}

export function oneOf<const T extends string>(...allowed: T[]): Check<T> {
  const rule = `one of ${allowed.join(', ')}`;
  return (value, faults) => {
    if (!allowed.some((item) => item === value)) fail(faults, value, rule);
  };
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, faults) => {
    if (value !== undefined) check(value, faults);
  };
}

/** Anything that JSON can hold. */
export const json: Check<unknown> = () => {};

export function array<T>(
  item: Check<T>,
  { min = 0, max = 100_000 }: { min?: number; max?: number } = {},
): Check<T[]> {
  const rule = `an array of ${min} to ${max} items`;
  return (value, faults) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) return fail(faults, value, rule);
    for (let index = 0; index < value.length; index++) {
      const known = faults.length;
      item(value[index], faults);
      if (faults.length > known) place(faults, known, `[${index}]`);
    }
  };
}

/** A list in which no two items have the same value of a field. */
export function distinct<T extends object>(list: Check<T[]>, field: keyof T & string): Check<T[]> {
  return (value, faults) => {
    const before = faults.length;
    list(value, faults);
    if (faults.length > before) return;
    const seen = new Set<unknown>();
    (value as T[]).forEach((item, index) => {
      if (seen.has(item[field])) {
        fail(faults, item[field], 'a value that no other item has');
        place(faults, faults.length - 1, `[${index}].${field}`);
      }
      seen.add(item[field]);
    });
  };
}

/** An object with these fields. Unknown fields are allowed, so that a newer sender does not break an older reader. */
export function object<S extends Shape>(shape: S): Check<ObjectOf<S>> {
  const fields = Object.entries(shape);
  return (value, faults) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return fail(faults, value, 'an object');
    for (const [key, check] of fields) {
      const known = faults.length;
      check(Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined, faults);
      if (faults.length > known) place(faults, known, key);
    }
  };
}
