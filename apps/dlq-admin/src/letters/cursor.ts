import { InvalidRequestError } from '../http/problems.js';

/** A place in a list ordered by time and id, newest first. */
export interface Cursor {
  at: number;
  id: number | string;
}

export function encodeCursor({ at, id }: Cursor): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url');
}

/** Throws InvalidRequestError for what `encodeCursor` did not make of an id of this type. */
export function decodeCursor(text: string | undefined, ids: 'number' | 'string'): Cursor | null {
  if (text === undefined) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (
      Array.isArray(value) &&
      value.length === 2 &&
      isInteger(value[0]) &&
      isId(value[1]) &&
      typeof value[1] === ids
    )
      return { at: value[0], id: value[1] };
  } catch {
    // Falls through to the one answer for every bad cursor.
  }
  throw new InvalidRequestError('cursor', 'take `cursor` from the `next` of the page before');
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isId = (value: unknown): value is number | string =>
  isInteger(value) || (typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value));
