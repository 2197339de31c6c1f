import type { Dialect } from '#database';
import type { LetterFilter, LetterStatus } from '#dlq-client';
import { mayAct, type Caller } from '../access/caller.js';
import type { Cursor } from '../http/field.js';
import { forbidden } from '../http/problems.js';
import { Where } from './where.js';

/** A filter with what the caller may see. */
export interface Criteria {
  filter: LetterFilter;
  /** The queues that the caller may see; null for all. */
  scope: readonly string[] | null;
  /** Only letters up to this id: those that a dry run has seen. */
  maxId?: number;
  /** Only these. */
  ids?: readonly number[];
  /** Only those behind this one, newest first. */
  after?: Cursor | null;
}

/** Text in payloads is for those who may see payloads; an answer of "yes, it is in there" would tell it too. */
export function criteriaOf(caller: Caller, filter: LetterFilter): Criteria {
  if ((filter.text !== undefined || filter.payload !== undefined) && !mayAct(caller, 'operator'))
    throw forbidden('ROLE', 'searching in payloads needs the role operator');
  return { filter, scope: caller.queues };
}

const COLUMNS = {
  queue: 'd.queue',
  name: 'd.name',
  error: 'd.error_name',
  group: 'd.fingerprint',
  worker: 'd.last_worker_id',
  reason: 'd.reason',
} as const;

/** A letter's state: that of its row, unless its requeued job has succeeded. */
export const STATE = "CASE WHEN d.resolved_at IS NULL THEN d.status ELSE 'resolved' END";

const NARROW: ReadonlySet<string> = new Set<keyof typeof COLUMNS>(['error', 'group', 'worker']);

/** Everything but text and payload conditions, which `needlesOf` turns into text to look for. */
export function whereOf({ filter, scope, maxId, ids, after }: Criteria, dialect: Dialect): Where {
  const where = new Where();
  const wide = wideColumns(filter, dialect);
  for (const [field, column] of Object.entries(COLUMNS) as [keyof typeof COLUMNS, string][]) {
    const value = filter[field];
    if (value !== undefined) where.and(`${NARROW.has(field) ? '' : wide}${column} = ?`, value);
  }
  if (filter.status !== undefined) hasStatus(where, `${wide}d.status`, filter.status);
  if (filter.action !== undefined)
    where.and('d.id IN (SELECT i.letter_id FROM bulk_action_items i WHERE i.action_id = ?)', filter.action);
  if (filter.from !== undefined) where.and('d.dead_lettered_at >= ?', filter.from);
  if (filter.until !== undefined) where.and('d.dead_lettered_at < ?', filter.until);
  if (maxId !== undefined) where.and('d.id <= ?', maxId);
  if (ids) where.in('d.id', [...new Set(ids)]);
  if (after) where.and('(d.dead_lettered_at, d.id) < (?, ?)', after.at, after.id);
  return where.in(`${wide}d.queue`, scope);
}

function hasStatus(where: Where, column: string, status: LetterStatus): void {
  where.and(`${column} = ?`, status === 'resolved' ? 'requeued' : status);
  if (status === 'resolved') where.and('d.resolved_at IS NOT NULL');
  if (status === 'requeued') where.and('d.resolved_at IS NULL');
}

/**
 * SQLite keeps no frequencies: it would look for a group's letters among all the open ones. `+` hides a column from its
 * choice of an index; what many letters have in common is hidden when there is something that few have.
 */
function wideColumns(filter: LetterFilter, dialect: Dialect): '' | '+' {
  const narrow = Object.entries(filter).some(([field, value]) => NARROW.has(field) && value !== undefined);
  return narrow && dialect === 'sqlite' ? '+' : '';
}

/** Texts of which one of each list must be in a letter's search text; sufficient for `text`, necessary for `payload`. */
export function needlesOf({ text, payload }: LetterFilter): string[][] {
  const needles = text === undefined ? [] : [[...new Set([text, escaped(text)].map(lower))]];
  for (const [path, value] of Object.entries(payload ?? {})) needles.push(fieldNeedles(path, value));
  return needles;
}

/** `"key":"value"` and `"key":value` as they stand in JSON text; for an element of an array, the value alone. */
function fieldNeedles(path: string, value: string): string[] {
  const last = parsePath(path).at(-1) ?? '';
  const prefix = /^\d+$/.test(last) ? '' : `"${escaped(last)}":`;
  const bare = /^(-?\d+(\.\d+)?|true|false|null)$/.test(value) ? [`${prefix}${value}`] : [];
  return [`${prefix}"${escaped(value)}"`, ...bare].map(lower);
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
const lower = (text: string): string => text.toLowerCase();

/** `files[3].path` and `files.3.path` alike. */
function parsePath(path: string): string[] {
  return path.replace(/\[(\d+)\]/g, '.$1').split('.');
}

/** Whether the payload holds the value at each path. */
export function payloadFits(payload: unknown, conditions: Record<string, string>): boolean {
  return Object.entries(conditions).every(([path, value]) => scalarAt(payload, path) === value);
}

/** The text, number, boolean or null at a path, as text. Own properties only. */
export function scalarAt(payload: unknown, path: string): string | undefined {
  let at = payload;
  for (const key of parsePath(path)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    if (Array.isArray(at) && !/^\d+$/.test(key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at !== null && typeof at === 'object' ? undefined : String(at);
}
