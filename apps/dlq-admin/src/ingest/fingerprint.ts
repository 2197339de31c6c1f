import { createHash } from 'node:crypto';

export interface Cause {
  fingerprint: string;
  /** The message with what differs from failure to failure replaced. */
  message: string;
  /** The first frame of our own code; empty when the stack has none. */
  frame: string;
}

const MAX_MESSAGE = 300;
// Stands, with a letter that is no digit, for what is kept while the rest is replaced.
const MARK = '\u0001';
const PLACE = 'ghijklmnopqrstuvwxyz';
const MARKED = new RegExp(`${MARK}([${PLACE}])`, 'g');
const FRAME =
  /^\s*at (?:async )?(?:(.+?) \()?((?:file:\/\/|node:|\/|[A-Za-z]:[\\/])?[^()\s]*?)(?::(\d+))?(?::(\d+))?\)?$/;
const FOREIGN = /^node:|(^|[\\/])node_modules[\\/]|^<anonymous>$|^native$/;

// What tells one cause from another although it looks like what varies: the status of an answer, codes such as E11000 or ORA-00942,
// and what an answer says of itself in a short field.
// A field goes before what may stand in it: what is kept is not looked at again.
const TELLING: readonly RegExp[] = [
  /"(?:code|type|status)" ?: ?(?:"[^"\\\n]{1,60}"|-?\d{1,6}\b)/g,
  /\b(?:status(?: code)?|statusCode|answered|HTTP(?:\/\d(?:\.\d)?)?)["']?[ :=]{1,3}[1-5]\d\d\b/gi,
  /\b[A-Z]{1,4}[-_]?\d{3,5}\b/g,
];
const TELLING_TEXT = /"(error|message|reason|title|detail)" ?: ?"((?:[^"\\\n]|\\.){1,100})"/g;

// In this order: what contains digits or slashes goes before digits and slashes themselves.
const VARYING: readonly [RegExp, string][] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s'"`)\]}]+/gi, '<url>'],
  [/(['"`])(?:(?!\1)[^\n\\]|\\.){0,500}\1/g, '<text>'],
  [/(?:[A-Za-z]:)?(?:[\\/][^\s\\/:'"`,;)\]}]+){2,}/g, '<path>'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.Z+-]*/g, '<time>'],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b/gi, '<hex>'],
  [/\d+/g, '#'],
];

/** The cause of a failure: the same for failures that differ only in ids, names, numbers and line numbers. */
export function causeOf(errorName: string, message: string, stack: string): Cause {
  const normalised = normaliseMessage(message);
  const frame = firstOwnFrame(stack);
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([errorName, normalised, frame]))
    .digest('hex')
    .slice(0, 24);
  return { fingerprint, message: normalised, frame };
}

export function normaliseMessage(message: string): string {
  // Cut first: every pattern is linear, but only a bounded text keeps that a promise.
  const [line = ''] = message.slice(0, 4 * MAX_MESSAGE).split('\n', 1);
  const kept: string[] = [];
  const keep = (text: string): string => `${MARK}${PLACE.charAt(kept.push(text) - 1)}`;
  // Out of its quotes a short text is read like the rest of the message.
  const told = line.replaceAll(MARK, '').replace(TELLING_TEXT, '$1: $2');
  const marked = TELLING.reduce(
    (text, shape) => text.replace(shape, (one) => (kept.length < PLACE.length ? keep(one) : one)),
    told,
  );
  return VARYING.reduce((text, [shape, name]) => text.replace(shape, name), marked)
    .replaceAll(MARKED, (_, place: string) => kept[PLACE.indexOf(place)] ?? '')
    .trim()
    .slice(0, MAX_MESSAGE);
}

/** `function (file)` of the first frame outside node_modules and Node itself, without line numbers. */
export function firstOwnFrame(stack: string): string {
  for (const line of stack.slice(0, 65_536).split('\n')) {
    if (!/^\s*at /.test(line) || line.length > 2_000) continue;
    const [, name, file] = FRAME.exec(line) ?? [];
    if (file === undefined || file === '' || FOREIGN.test(file)) continue;
    return name ? `${name} (${shortFile(file)})` : shortFile(file);
  }
  return '';
}

/** The file from its source root on: deployments differ in what stands before. */
function shortFile(file: string): string {
  const path =
    file
      .replace(/^file:\/\//, '')
      .replaceAll('\\', '/')
      .split('?', 1)[0] ?? '';
  const root = Math.max(path.lastIndexOf('/apps/'), path.lastIndexOf('/libs/'));
  if (root >= 0) return path.slice(root + 1);
  return path.split('/').slice(-3).join('/');
}
