import { createHash } from 'node:crypto';
import type { BulkKind, LetterFilter } from '#dlq-client';

/** Which letters a bulk action is about, as it was asked for. */
export type Selection = { ids: number[] } | { filter: LetterFilter };

/**
 * A dry run's receipt: what was shown, up to which letter, how many. Whoever sends it back has seen the count; letters
 * that arrived since are not touched.
 */
export interface Receipt {
  maxId: number;
  count: number;
}

export function confirmToken(kind: BulkKind, filter: LetterFilter, { maxId, count }: Receipt): string {
  return `${maxId}.${count}.${digest(kind, filter, maxId, count)}`;
}

/** The receipt, or null when the token is not of this kind and filter. */
export function readConfirmToken(token: string, kind: BulkKind, filter: LetterFilter): Receipt | null {
  const match = /^(\d{1,15})\.(\d{1,15})\.([0-9a-f]{32})$/.exec(token);
  if (!match) return null;
  const receipt = { maxId: Number(match[1]), count: Number(match[2]) };
  return digest(kind, filter, receipt.maxId, receipt.count) === match[3] ? receipt : null;
}

function digest(kind: BulkKind, filter: LetterFilter, maxId: number, count: number): string {
  const { payload = {}, ...plain } = filter;
  const sorted = (object: object): [string, unknown][] =>
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([kind, sorted(plain), sorted(payload), maxId, count]))
    .digest('hex')
    .slice(0, 32);
}
