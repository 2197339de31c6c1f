import type { Page } from '#dlq-client';
import { invalidField } from '../http/problems.js';

/** A place in a list ordered by time and id, newest first. */
export interface Cursor {
  at: number;
  id: number | string;
}

export function encodeCursor({ at, id }: Cursor): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url');
}

/** The page of `limit` rows, of which one more was read to know whether another page follows. */
export function pageOf<T>(rows: readonly T[], limit: number, cursorOf: (row: T) => Cursor): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last ? encodeCursor(cursorOf(last)) : null };
}

/** Refuses what `encodeCursor` did not make of an id of this type. */
export function decodeCursor(text: string | undefined, ids: 'number' | 'string'): Cursor | null {
  if (text === undefined) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const [at, id, ...more] = Array.isArray(value) ? (value as unknown[]) : [];
    if (isInteger(at) && isId(id) && typeof id === ids && more.length === 0) return { at, id };
  } catch {
    // Falls through to the one answer for every bad cursor.
  }
  throw invalidField('cursor', 'take `cursor` from the `next` of the page before');
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isId = (value: unknown): value is number | string =>
  isInteger(value) || (typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value));
