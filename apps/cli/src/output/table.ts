import { paint, paintState } from './colour.js';

export type OutputFormat = 'table' | 'json';
type Cell = string | number | null | undefined;

// Whatever a file name or an error message holds, it cannot move the cursor or colour the terminal.
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Text that is safe to show on a terminal: control and direction characters are written out. */
export function plain(text: string): string {
  return text.replace(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The same for text of several lines: only its line breaks remain. */
export function plainLines(text: string): string {
  return text.split('\n').map(plain).join('\n');
}

/** A value for a program or a terminal: JSON in which no character acts on its reader. */
export function json(value: unknown): string {
  // What `plain` writes out can only stand inside strings here, where it is a valid escape.
  return `${plainLines(JSON.stringify(value, null, 2))}\n`;
}

/** At most so many characters, on one line. */
export function short(text: string, length: number): string {
  const safe = plain(text.slice(0, length + 1));
  return safe.length > length ? `${safe.slice(0, length - 1)}…` : safe;
}

/** As much of an id as lists show; every command takes the beginning of one. */
export const shortId = (id: string): string => plain(id.slice(0, 12));

/** Names and what they stand for, one a line; what is empty is left out. */
export function factLines(facts: readonly (readonly [name: string, value: string | null])[]): string {
  return facts.flatMap(([name, value]) => (value ? [`${name.padEnd(9)} ${plain(value)}\n`] : [])).join('');
}

const GAP = '  ';
const NARROWEST = 8;

/** What stands in each column, by its title: a field of the item, or what is made of it. */
export type Columns<T> = Readonly<Record<string, keyof T | ((item: T) => Cell)>>;

type Column = ReturnType<typeof columnOf>;

/**
 * Columns aligned by width, numbers to the right, a header and nothing else: easy to read and to cut. `NAME:40` is a column
 * whose texts have at most 40 characters. On a terminal the widest texts are cut until a row fits a line; a pipe gets them whole.
 */
export function tableOf<T>(
  items: readonly T[],
  columns: Columns<T>,
  room: number | undefined = process.stdout.columns,
): string {
  const all = Object.entries(columns).map(([header, of]) =>
    columnOf(
      header,
      items.map((item) => (typeof of === 'function' ? of(item) : (item[of] as Cell))),
    ),
  );
  if (room !== undefined) narrow(all, room);
  const line = (cells: readonly string[]): string => `${cells.join(GAP).trimEnd()}\n`;
  const rows = items.map((_, row) =>
    line(all.map((column) => paintState(fitted(column.texts[row] ?? '', column)))),
  );
  return line(all.map((column) => paint('bold', fitted(column.title, column)))) + rows.join('');
}

function columnOf(header: string, cells: readonly Cell[]) {
  const [title = '', limit] = header.split(':');
  const texts = cells.map((cell) => {
    if (typeof cell === 'number') return count(cell);
    return limit ? short(cell ?? '', Number(limit)) : plain(cell ?? '');
  });
  const numeric = cells.length > 0 && cells.every((cell) => typeof cell === 'number');
  return { title, texts, numeric, width: Math.max(title.length, ...texts.map(({ length }) => length)) };
}

/** Takes from the widest texts what does not fit. */
function narrow(columns: readonly Column[], room: number): void {
  const texts = columns.filter(({ numeric }) => !numeric);
  let over = columns.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length) - room;
  for (; over > 0; over--) {
    const most = Math.max(...texts.map(({ width }) => width));
    const widest = texts.find(({ width }) => width === most);
    if (!widest || most <= NARROWEST) return;
    widest.width -= 1;
  }
}

function fitted(text: string, { width, numeric }: Column): string {
  const cut = text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text;
  return numeric ? cut.padStart(width) : cut.padEnd(width);
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** A number of things, in words that fit it. */
export function several(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function bytes(value: number): string {
  const power = value < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}

export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

/** A moment, in UTC and to the second. */
export function time(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return '';
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}
