import { CLI_EXIT, CliError } from '../cli.errors.js';
import { plain } from '../output/table.js';

/** What an edit does to one place of a payload; a side that is undefined was not there. */
export interface Change {
  path: string;
  before?: unknown;
  after?: unknown;
}

type Holder = Record<string, unknown> | unknown[];

/** `user.id=7` → a number; what is not JSON is text, and `"7"` in quotes is too. */
export function parseAssignment(text: string): { path: string; value: unknown } {
  const at = text.indexOf('=');
  if (at <= 0)
    throw new CliError(`--set: found "${text}", write <path>=<value>, such as user.id=7`, CLI_EXIT.usage);
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
  const { holder, key } = placeOf(copy, path, { create: true });
  put(holder, key, value);
  return copy;
}

/** A copy of the payload without the place. */
export function removeAt(payload: unknown, path: string): unknown {
  const copy = structuredClone(payload);
  const { holder, key } = placeOf(copy, path, { create: false });
  if (!Object.hasOwn(holder, key)) throw notThere(path);
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
  return copy;
}

function placeOf(
  root: unknown,
  path: string,
  { create }: { create: boolean },
): { holder: Holder; key: string } {
  const keys = path.replace(/\[(\d+)\]/g, '.$1').split('.');
  const last = keys.pop() ?? '';
  let at = root;
  for (const key of keys) {
    if (!isHolder(at)) throw notThere(path);
    if (!Object.hasOwn(at, key)) {
      if (!create) throw notThere(path);
      put(at, key, {});
    }
    at = (at as Record<string, unknown>)[key];
  }
  if (!isHolder(at) || last === '') throw notThere(path);
  return { holder: at, key: last };
}

// Defined, not assigned: `__proto__` is a key like any other here.
function put(holder: Holder, key: string, value: unknown): void {
  if (Array.isArray(holder) && !(/^\d+$/.test(key) && Number(key) <= holder.length))
    throw new CliError(
      `"${plain(key)}" is no place of a list of ${holder.length}; allowed is 0 to ${holder.length}`,
      CLI_EXIT.usage,
    );
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function notThere(path: string): CliError {
  return new CliError(`the payload has no place ${plain(path)}`, CLI_EXIT.usage);
}

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
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const side = (holder: Holder, key: string): unknown =>
    Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
  return keys.map((key) => ({
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
