import { UsageError } from '../cli.errors.js';
import { plain } from '../output/table.js';

/** What an edit does to one place of a payload; a side that is undefined was not there. */
interface Change {
  path: string;
  before?: unknown;
  after?: unknown;
}

/** An object, or a list, whose keys are its places. */
type Holder = Record<string, unknown>;

/** `user.id=7` → a number; what is not JSON is text, and `"7"` in quotes is too. */
export function parseAssignment(text: string): { path: string; value: unknown } {
  const at = text.indexOf('=');
  if (at <= 0) throw new UsageError(`--set: found "${text}", write <path>=<value>, such as user.id=7`);
  const value = text.slice(at + 1);
  try {
    return { path: text.slice(0, at), value: JSON.parse(value) as unknown };
  } catch {
    return { path: text.slice(0, at), value };
  }
}

/** A copy of the payload with the value at the path; objects on the way are made when they are missing. */
export function setAt(payload: unknown, path: string, value: unknown): unknown {
  const copy = structuredClone(payload);
  const { holder, key } = placeOf(copy, path, put);
  put(holder, key, value);
  return copy;
}

/** A copy of the payload without the place. */
export function removeAt(payload: unknown, path: string): unknown {
  const copy = structuredClone(payload);
  const { holder, key } = placeOf(copy, path);
  if (!Object.hasOwn(holder, key)) throw notThere(path);
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
  return copy;
}

function placeOf(root: unknown, path: string, make?: typeof put): { holder: Holder; key: string } {
  const keys = path.replace(/\[(\d+)\]/g, '.$1').split('.');
  const last = keys.pop() ?? '';
  let holder = root;
  for (const key of keys) {
    if (isHolder(holder) && !Object.hasOwn(holder, key)) make?.(holder, key, {});
    holder = isHolder(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
  }
  if (!isHolder(holder) || last === '') throw notThere(path);
  return { holder, key: last };
}

// Defined, not assigned: `__proto__` is a key like any other here.
function put(holder: Holder, key: string, value: unknown): void {
  if (Array.isArray(holder) && !(/^\d+$/.test(key) && Number(key) <= holder.length))
    throw new UsageError(
      `"${plain(key)}" is no place of a list of ${holder.length}; allowed is 0 to ${holder.length}`,
    );
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

const notThere = (path: string): UsageError => new UsageError(`the payload has no place ${plain(path)}`);

function isHolder(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null;
}

/** Every place in which two payloads differ. Walks without recursion, so that no nesting can overflow the stack. */
export function differences(before: unknown, after: unknown): Change[] {
  const changes: Change[] = [];
  const waiting: Change[] = [{ path: '', before, after }];
  for (let at = waiting.pop(); at; at = waiting.pop()) {
    if (at.before === at.after) continue;
    if (isHolder(at.before) && isHolder(at.after) && Array.isArray(at.before) === Array.isArray(at.after))
      waiting.push(...children(at.path, at.before, at.after).reverse());
    else changes.push(at);
  }
  return changes;
}

function children(path: string, before: Holder, after: Holder): Change[] {
  const side = (holder: Holder, key: string): unknown =>
    Object.hasOwn(holder, key) ? holder[key] : undefined;
  return Object.keys({ ...before, ...after }).map((key) => ({
    path: Array.isArray(before) ? `${path}[${key}]` : path ? `${path}.${key}` : key,
    before: side(before, key),
    after: side(after, key),
  }));
}

export function differenceLines(changes: readonly Change[]): string[] {
  const line = (sign: string, path: string, value: unknown): string[] =>
    value === undefined ? [] : [plain(`${sign} ${path || '(all)'}: ${JSON.stringify(value)}`)];
  return changes.flatMap(({ path, before, after }) => [
    ...line('-', path, before),
    ...line('+', path, after),
  ]);
}
