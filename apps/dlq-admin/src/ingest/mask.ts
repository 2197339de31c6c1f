import { isSecretKey, MASK, redactionBudget, redactText, type RedactionBudget } from '#service';

export { MASK };

interface Masked {
  value: unknown;
  /** Where something was masked, such as `user.password`, `items[2].token`. */
  paths: string[];
}

const MAX_PATHS = 1_000;
const MAX_VALUES = 1_000_000;

/** A place in a JSON value. It knows the place it is in, so that a path costs nothing until somebody asks for it. */
interface Place {
  holder: Record<string, unknown> | unknown[];
  key: string | number;
  parent: Place | null;
  depth: number;
}

/**
 * Masks secrets in a JSON value, in place: values under secret-looking keys, secret shapes in texts and in keys, and the
 * fields that `rules` name. Walks without recursion, linear and bounded, so that no payload can overflow the stack or
 * hold up the process.
 */
export function maskSecrets(value: unknown, rules: readonly string[] = []): Masked {
  const paths: string[] = [];
  const patterns = rules.map((rule) => rule.split('.'));
  const budget = redactionBudget();
  const root = { value };
  const whole = walk(root, (place) => {
    const renamed = renameKeys(place, budget);
    const mask = maskOf(place, patterns, budget);
    if (mask !== undefined) write(place, mask);
    if ((mask !== undefined || renamed) && paths.length < MAX_PATHS) paths.push(pathOf(place));
    return mask === undefined;
  });
  if (!whole) return { value: { unreadable: `more than ${MAX_VALUES} values` }, paths: [''] };
  return { value: root.value, paths: paths.sort() };
}

/** The paths that still hold a mask in an edited payload. */
export function stillMasked(value: unknown): string[] {
  const paths: string[] = [];
  walk({ value }, (place) => {
    const found = read(place);
    if (typeof found === 'string' && found.includes(MASK) && paths.length < MAX_PATHS)
      paths.push(pathOf(place));
    return true;
  });
  return paths.sort();
}

/** Visits every value, and goes into those for which the visit says so. False when there are too many. */
function walk(root: Record<string, unknown>, visit: (place: Place) => boolean): boolean {
  const places: Place[] = [{ holder: root, key: 'value', parent: null, depth: 0 }];
  let values = 0;
  for (let place = places.pop(); place; place = places.pop()) {
    if (++values > MAX_VALUES) return false;
    const found = visit(place) ? read(place) : null;
    if (typeof found !== 'object' || found === null) continue;
    const holder = found as Place['holder'];
    const [parent, depth] = [place, place.depth + 1];
    if (Array.isArray(holder))
      for (let key = 0; key < holder.length; key++) places.push({ holder, key, parent, depth });
    else for (const key of Object.keys(holder)) places.push({ holder, key, parent, depth });
  }
  return true;
}

function maskOf(place: Place, patterns: string[][], budget: RedactionBudget): string | undefined {
  const found = read(place);
  if (found === null || typeof found === 'boolean' || found === '') return undefined;
  if (patterns.some((pattern) => fits(pattern, place))) return MASK;
  if (typeof place.key === 'string' && place.depth > 0 && isSecretKey(place.key)) return MASK;
  if (typeof found !== 'string') return undefined;
  // A number of tokens is a count; a text called token is a credential.
  if (typeof place.key === 'string' && /^tokens?$/i.test(place.key)) return MASK;
  const masked = redactText(found, budget);
  return masked === found ? undefined : masked;
}

/** A secret may be a key itself, as in a table of who has which token. */
function renameKeys(place: Place, budget: RedactionBudget): boolean {
  const found = read(place);
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return false;
  const entries = Object.entries(found);
  const names = entries.map(([key]) => redactText(key, budget));
  if (names.every((name, at) => name === entries[at]?.[0])) return false;
  const renamed = {};
  for (const [at, [key, value]] of entries.entries())
    define(renamed, names[at] === key ? key : `${names[at]} ${at + 1}`, value);
  define(place.holder, place.key, renamed);
  return true;
}

function fits(pattern: readonly string[], place: Place): boolean {
  if (pattern.length !== place.depth) return false;
  let at: Place | null = place;
  for (let part = pattern.length - 1; at && part >= 0; part--, at = at.parent)
    if (pattern[part] !== '*' && pattern[part] !== String(at.key)) return false;
  return true;
}

function pathOf(place: Place): string {
  const parts: string[] = [];
  for (let at: Place | null = place; at?.parent; at = at.parent)
    parts.push(typeof at.key === 'number' ? `[${at.key}]` : `.${at.key}`);
  return parts.reverse().join('').replace(/^\./, '');
}

const read = ({ holder, key }: Place): unknown => (holder as Record<string | number, unknown>)[key];
const write = ({ holder, key }: Place, value: string): void => define(holder, key, value);

// defineProperty, because a key may be `__proto__`.
function define(holder: object, key: string | number, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}
