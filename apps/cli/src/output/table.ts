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

const GAP = 2;
const NARROWEST = 8;

/**
 * Columns aligned by width, numbers to the right, a header and nothing else: easy to read and to cut. `NAME:40` is a column
 * whose texts have at most 40 characters. On a terminal the widest texts are cut until a row fits a line; a pipe gets them whole.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number | undefined = process.stdout.columns,
): string {
  const titles = header.map((column) => column.split(':')[0] ?? '');
  const body = rows.map((row) => row.map((cell, column) => show(cell, header[column]?.split(':')[1])));
  const numeric = header.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === 'number'));
  const widest = titles.map((title, at) =>
    Math.max(title.length, ...body.map((row) => (row[at] ?? '').length)),
  );
  const widths = columns === undefined ? widest : fitted(widest, numeric, columns);
  const padded = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    const fitting = cell.length > width ? `${cell.slice(0, Math.max(0, width - 1))}…` : cell;
    return numeric[column] ? fitting.padStart(width) : fitting.padEnd(width);
  };
  const line = (row: readonly string[], paintCell: (cell: string) => string): string =>
    `${row
      .map((cell, column) => paintCell(padded(cell, column)))
      .join(' '.repeat(GAP))
      .trimEnd()}\n`;
  return line(titles, (title) => paint('bold', title)) + body.map((row) => line(row, paintState)).join('');
}

/** What stands in each column, by its title: a field of the item, or what is made of it. */
export type Columns<T> = Readonly<Record<string, keyof T | ((item: T) => Cell)>>;

export function tableOf<T>(items: readonly T[], columns: Columns<T>): string {
  const cell = (item: T, column: Columns<T>[string]): Cell =>
    typeof column === 'function' ? column(item) : (item[column] as Cell);
  return table(
    Object.keys(columns),
    items.map((item) => Object.values(columns).map((column) => cell(item, column))),
  );
}

/** Widths of which the largest texts gave up what does not fit. */
function fitted(widest: readonly number[], numeric: readonly boolean[], columns: number): number[] {
  const widths = [...widest];
  const texts = widths.map((_, column) => column).filter((column) => !numeric[column]);
  const over = (): number => widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
  while (over() > 0) {
    const [largest] = texts.sort((a, b) => widths[b]! - widths[a]! || a - b);
    if (largest === undefined || widths[largest]! <= NARROWEST) break;
    widths[largest]! -= 1;
  }
  return widths;
}

function show(cell: Cell, limit?: string): string {
  if (typeof cell === 'number') return count(cell);
  return limit ? short(cell ?? '', Number(limit)) : plain(cell ?? '');
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** A number of things, in words that fit it. */
export function several(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
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
