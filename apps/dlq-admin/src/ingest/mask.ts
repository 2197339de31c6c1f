import { isSecretKey, redactText } from '#service';

export const MASK = '[redacted]';

export interface Masked {
  value: unknown;
  /** Where something was masked, such as `user.password`, `items[2].token`. */
  paths: string[];
}

const MAX_PATHS = 1_000;

interface Place {
  holder: Record<string, unknown> | unknown[];
  key: string | number;
  path: string;
  keys: string[];
}

/**
 * Masks secrets in a JSON value, in place: values under secret-looking keys, secret shapes in texts, and the fields that
 * `rules` name. Walks without recursion, so that no nesting can overflow the stack.
 */
export function maskSecrets(value: unknown, rules: readonly string[] = []): Masked {
  const root = { value };
  const paths: string[] = [];
  const patterns = rules.map((rule) => rule.split('.'));
  const places: Place[] = [{ holder: root, key: 'value', path: '', keys: [] }];
  for (let place = places.pop(); place; place = places.pop()) visit(place, patterns, places, paths);
  return { value: root.value, paths: paths.slice(0, MAX_PATHS).sort() };
}

function visit(place: Place, patterns: readonly string[][], places: Place[], paths: string[]): void {
  const found = read(place);
  const mask = maskOf(found, place, patterns);
  if (mask !== undefined) {
    write(place, mask);
    paths.push(place.path);
  } else if (typeof found === 'object' && found !== null) places.push(...children(found, place));
}

function maskOf(found: unknown, { key, keys }: Place, patterns: readonly string[][]): string | undefined {
  if (found === null || typeof found === 'boolean' || found === '') return undefined;
  if (patterns.some((pattern) => fits(pattern, keys))) return MASK;
  if (typeof key === 'string' && keys.length > 0 && isSecretKey(key)) return MASK;
  if (typeof found !== 'string') return undefined;
  // A number of tokens is a count; a text called token is a credential.
  if (typeof key === 'string' && /^tokens?$/i.test(key)) return MASK;
  const masked = redactText(found);
  return masked === found ? undefined : masked;
}

function fits(pattern: readonly string[], keys: readonly string[]): boolean {
  return pattern.length === keys.length && pattern.every((part, at) => part === '*' || part === keys[at]);
}

function children(found: object, { path, keys }: Place): Place[] {
  if (Array.isArray(found))
    return found.map((_, index) => ({
      holder: found,
      key: index,
      path: `${path}[${index}]`,
      keys: [...keys, String(index)],
    }));
  const holder = found as Record<string, unknown>;
  return Object.keys(holder).map((key) => ({
    holder,
    key,
    path: path ? `${path}.${key}` : key,
    keys: [...keys, key],
  }));
}

const read = ({ holder, key }: Place): unknown => (holder as Record<string | number, unknown>)[key];

function write({ holder, key }: Place, value: string): void {
  // defineProperty, because a key may be `__proto__`.
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

/** The paths that still hold a mask in an edited payload. */
export function stillMasked(value: unknown): string[] {
  const paths: string[] = [];
  const places: Place[] = [{ holder: { value }, key: 'value', path: '', keys: [] }];
  for (let place = places.pop(); place; place = places.pop()) {
    const found = read(place);
    if (typeof found === 'string' && found.includes(MASK)) paths.push(place.path);
    else if (typeof found === 'object' && found !== null) places.push(...children(found, place));
  }
  return paths.slice(0, MAX_PATHS).sort();
}
