import { paint, paintState } from './colour.js';

export type OutputFormat = 'table' | 'json';
export type Cell = string | number | null | undefined;

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

const GAP = 2;
const NARROWEST = 8;

/**
 * Columns aligned by width, numbers to the right, a header and nothing else: easy to read and to cut. On a terminal the widest
 * texts are cut until a row fits a line; a pipe gets them whole.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number | undefined = process.stdout.columns,
): string {
  const cells = [header, ...rows.map((row) => row.map(show))];
  const numeric = header.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'),
  );
  const widest = header.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  const widths = columns === undefined ? widest : fitted(widest, numeric, columns);
  const line = (row: readonly string[], at: number): string =>
    row
      .map((cell, column) => [cut(cell, widths[column] ?? 0), widths[column] ?? 0, numeric[column]] as const)
      .map(([cell, width, number]) => (number ? cell.padStart(width) : cell.padEnd(width)))
      .map((cell) => (at === 0 ? paint('bold', cell) : paintState(cell)))
      .join(' '.repeat(GAP))
      .trimEnd();
  return `${cells.map((row, at) => line(row as string[], at)).join('\n')}\n`;
}

/** Widths of which the largest texts gave up what does not fit. */
function fitted(widest: readonly number[], numeric: readonly boolean[], columns: number): number[] {
  const widths = [...widest];
  const texts = widths.map((_, column) => column).filter((column) => !numeric[column]);
  const over = (): number => widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
  while (over() > 0) {
    const widestText = texts.reduce(
      (most, one) => (widths[one]! > widths[most]! ? one : most),
      texts[0] ?? 0,
    );
    if ((widths[widestText] ?? 0) <= NARROWEST) break;
    widths[widestText]! -= 1;
  }
  return widths;
}

const cut = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text;

function show(cell: Cell): string {
  if (typeof cell === 'number') return count(cell);
  return plain(cell ?? '');
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
