import { createHmac, timingSafeEqual } from 'node:crypto';
import type { BulkKind, LetterFilter } from '#dlq-client';
import { conflict } from '../http/problems.js';

/**
 * A dry run's receipt: what was shown, up to which letter, how many. Whoever sends it back has seen the count; letters
 * that arrived since are not touched.
 */
interface Receipt {
  maxId: number;
  count: number;
}

/** What a receipt is about: who has seen what. The key is the server's, so nobody can write one without a dry run. */
export interface Shown {
  key: string;
  caller: string;
  kind: BulkKind;
  filter: LetterFilter;
}

export const CONFIRM_TOKEN = /^(\d{1,15})\.(\d{1,15})\.([0-9a-f]{64})$/;

export function confirmToken(shown: Shown, { maxId, count }: Receipt): string {
  return `${maxId}.${count}.${digest(shown, maxId, count)}`;
}

/** The receipt, or null when the token is not of this caller, kind and filter. */
export function readConfirmToken(token: string, shown: Shown): Receipt | null {
  const match = CONFIRM_TOKEN.exec(token);
  if (!match) return null;
  const receipt = { maxId: Number(match[1]), count: Number(match[2]) };
  const expected = Buffer.from(digest(shown, receipt.maxId, receipt.count));
  return timingSafeEqual(expected, Buffer.from(match[3] ?? '')) ? receipt : null;
}

export function receiptOf(shown: Shown, confirm: string | undefined): Receipt {
  const receipt = confirm === undefined ? null : readConfirmToken(confirm, shown);
  if (receipt) return receipt;
  throw conflict('CONFIRM', 'do a dry run of this kind and filter first and send its `confirm`');
}

function digest({ key, caller, kind, filter }: Shown, maxId: number, count: number): string {
  const { payload = {}, ...plain } = filter;
  const sorted = (object: object): [string, unknown][] =>
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHmac('sha256', key)
    .update(JSON.stringify([caller, kind, sorted(plain), sorted(payload), maxId, count]))
    .digest('hex');
}
