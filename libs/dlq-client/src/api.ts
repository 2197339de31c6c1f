import type { Destination } from '#contracts';

/** What dlq-admin's REST interface says, as types: the server answers with these, clients read these. */

export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export const LETTER_STATUSES = ['open', 'requeued', 'discarded'] as const;
export type LetterStatus = (typeof LETTER_STATUSES)[number];

export const REASONS = ['error', 'stalled', 'crash', 'invalid'] as const;
export type Reason = (typeof REASONS)[number];

/** A page of a list; `next` is the cursor of the page after it, null on the last. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface LetterSummary {
  id: number;
  queue: string;
  jobId: string;
  name: string;
  reason: Reason;
  errorName: string;
  /** Cut at 500 characters in lists. */
  errorMessage: string;
  group: string;
  attemptsMade: number;
  lastWorkerId: string;
  enqueuedAt: number;
  failedAt: number;
  deadLetteredAt: number;
  status: LetterStatus;
  replayCount: number;
  replayedAt: number | null;
  note: string | null;
  /** For `If-Match` when editing. */
  version: number;
}

export interface LetterAttempt {
  attempt: number;
  error: string;
  at?: number;
}

export interface HistoryEntry {
  at: number;
  actor: string;
  event: string;
  details: Record<string, unknown>;
}

export interface LetterDetail extends LetterSummary {
  /** Null for viewers: payload and stack are for operators. */
  payload: unknown;
  stack: string | null;
  hidden: boolean;
  /** Where secrets were masked; each must be given anew before the letter can be requeued. */
  redactedPaths: string[];
  /** What is wrong with the payload by the contract of its queue; empty when it could run. */
  faults: { path: string; found: string; rule: string }[];
  options: Record<string, unknown>;
  attempts: LetterAttempt[];
  history: HistoryEntry[];
  replayJobId: string | null;
  trace: string | null;
}

export interface Group {
  id: string;
  errorName: string;
  message: string;
  frame: string;
  firstSeenAt: number;
  lastSeenAt: number;
  total: number;
  open: number;
  queues: { queue: string; total: number; open: number }[];
  workers: { worker: string; total: number }[];
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
  from?: number;
  until?: number;
  /** Literal text in payload or error, at least three characters. */
  text?: string;
  /** Payload fields by path, such as `{ 'user.id': '7' }`. */
  payload?: Record<string, string>;
}

export const BULK_KINDS = ['requeue', 'discard', 'restore'] as const;
export type BulkKind = (typeof BULK_KINDS)[number];
export type BulkStatus = 'frozen' | 'running' | 'completed' | 'aborted' | 'stopped';

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
  canary?: boolean | Partial<CanarySettings>;
  note?: string;
}

export interface BulkPreview {
  dryRun: true;
  total: number;
  /** How many would be done, and why the others would not. */
  eligible: number;
  skipped: { reason: string; count: number }[];
  reasons: { group: string; errorName: string; message: string; count: number }[];
  queues: { queue: string; count: number }[];
  /** Sent back as `confirm`, it permits what was shown here and no more. */
  confirm: string;
}

export interface BulkAction {
  id: string;
  kind: BulkKind;
  status: BulkStatus;
  selection: Record<string, unknown>;
  ratePerSecond: number | null;
  canary: (CanarySettings & { step: number; waiting: boolean }) | null;
  total: number;
  done: number;
  skipped: number;
  failedAgain: number;
  skippedReasons: { reason: string; count: number }[];
  reason: string | null;
  createdBy: string;
  createdAt: number;
  finishedAt: number | null;
}

export interface DeadEvent {
  id: string;
  queue: string;
  eventName: string;
  attempts: number;
  createdAt: number;
  lastError: string | null;
  /** Null for viewers. */
  payload: unknown;
}

export interface AuditRow {
  id: number;
  at: number;
  actor: string;
  role: string | null;
  keyId: string | null;
  ip: string | null;
  action: string;
  target: string | null;
  before: unknown;
  after: unknown;
  result: string;
  reason: string | null;
  hash: string;
}

export interface QueueStat {
  queue: string;
  open: number;
  total: number;
  oldestAt: number | null;
}

export interface DepthPoint {
  at: number;
  depth: number;
  arrivals: number;
}

export interface AlertView {
  rule: string;
  state: 'ok' | 'firing';
  value: number;
  since: number;
}

/** Whose dead letters a dlq-admin serves. */
export interface PipelineView {
  id: string;
  destination: Destination | null;
}

export interface Stats {
  at: number;
  open: number;
  requeued: number;
  discarded: number;
  deadEvents: number;
  /** Dead letters that wait in Redis to be taken in; null while Redis is away. */
  waiting: number | null;
  queues: QueueStat[];
  depth: DepthPoint[];
  alerts: AlertView[];
}

export interface KeyView {
  id: string;
  name: string;
  role: Role;
  queues: string[] | null;
  createdBy: string;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
  replaces: string | null;
}

export interface NewKeyRequest {
  name: string;
  role: Role;
  queues?: string[];
  expiresInDays?: number;
  /** The key that this one takes over from; it goes on working for `overlapHours`. */
  replaces?: string;
  overlapHours?: number;
}

/** The only answer that holds a key in clear. */
export type NewKey = KeyView & { key: string };

export interface SessionView {
  mode: 'key' | 'session' | 'loopback';
  name: string;
  role: Role;
  queues: string[] | null;
  csrfToken: string | null;
  expiresAt: number | null;
}

/** Signs a browser in once, as the key that asked for it. */
export interface SignInCode {
  code: string;
  expiresAt: number;
}

/** RFC 9457. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  traceId?: string;
  errors?: { path: string; message: string }[];
}
