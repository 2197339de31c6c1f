/** What is asked of dlq-admin, and the words of its answers. */

export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** `requeued`: its job is on its way again; `resolved`: that job has succeeded. */
export const LETTER_STATUSES = ['open', 'requeued', 'resolved', 'discarded'] as const;
export type LetterStatus = (typeof LETTER_STATUSES)[number];

export const REASONS = ['error', 'stalled', 'crash', 'invalid'] as const;
export type Reason = (typeof REASONS)[number];

/** A page of a list; `next` is the cursor of the page after it, null on the last. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** What people leave on a group; null takes it off, what is not given stays. */
export interface GroupChange {
  note?: string | null;
  owner?: string | null;
  mutedUntil?: number | null;
}

/** Which letters: every given condition must hold. Times are UTC milliseconds. */
export interface LetterFilter {
  queue?: string;
  name?: string;
  error?: string;
  group?: string;
  worker?: string;
  reason?: Reason;
  status?: LetterStatus;
  /** Letters that a bulk action has selected. */
  action?: string;
  from?: number;
  until?: number;
  /** Literal text in payload or error, at least three characters. */
  text?: string;
  /** Payload fields by path, such as `{ 'user.id': '7' }`. */
  payload?: Record<string, string>;
}

export const BULK_KINDS = ['requeue', 'discard', 'restore'] as const;
export type BulkKind = (typeof BULK_KINDS)[number];

export interface CanarySettings {
  /** How many letters each step adds; the last size repeats. */
  steps: number[];
  /** Failures again, in one step, that are still accepted. */
  maxFailures: number;
}

export interface BulkRequest {
  kind: BulkKind;
  ids?: number[];
  filter?: LetterFilter;
  dryRun?: boolean;
  /** From the dry run; needed with a filter. */
  confirm?: string;
  ratePerSecond?: number;
  canary?: Partial<CanarySettings>;
  note?: string;
}

export const FILE_STATES = ['pending', 'processing', 'batched', 'analyzed', 'skipped', 'failed'] as const;
export type FileState = (typeof FILE_STATES)[number];

export interface NewKeyRequest {
  name: string;
  role: Role;
  queues?: string[];
  expiresInDays?: number;
  /** The key that this one takes over from; it goes on working for `overlapHours`. */
  replaces?: string;
  overlapHours?: number;
}
