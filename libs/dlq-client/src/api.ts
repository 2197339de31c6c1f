import type { Destination } from '#contracts';

/** What dlq-admin's REST interface says, as types: the server answers with these, clients read these. */

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
  /** When its requeued job succeeded, and which batch, or else which job, that was. */
  resolvedAt: number | null;
  resolvedBy: string | null;
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
  /** Where its trace is looked at; null when it has none, or nobody has said where. */
  traceUrl: string | null;
}

export interface Group {
  id: string;
  errorName: string;
  /** What its messages have in common. */
  message: string;
  /** The newest message as it was; null for a key that does not see all queues. */
  newest: string | null;
  frame: string;
  note: string | null;
  owner: string | null;
  /** Until then its letters raise no alert. */
  mutedUntil: number | null;
  /** The group that its letters went to, and go to. */
  mergedInto: string | null;
  /** The field by which its letters went, and go, to groups of their own. */
  splitBy: string | null;
  firstSeenAt: number;
  lastSeenAt: number;
  total: number;
  open: number;
  queues: { queue: string; total: number; open: number }[];
  workers: { worker: string; total: number }[];
  /** How many letters came in each of the last 24 hours, the present one last. */
  recent: number[];
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
/** `pending`: nothing happens until another key approves it. */
export type BulkStatus = 'pending' | 'frozen' | 'running' | 'completed' | 'aborted' | 'stopped';

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
  /** Those done, skipped and waiting together. */
  total: number;
  done: number;
  skipped: number;
  /** Not touched yet; once it was stopped or aborted: never, unless it is continued. */
  waiting: number;
  /** Of those done. */
  failedAgain: number;
  skippedReasons: { reason: string; count: number }[];
  reason: string | null;
  createdBy: string;
  createdAt: number;
  finishedAt: number | null;
  /** Until when another key has to approve it; null when nobody has to. */
  approveBefore: number | null;
  approvedBy: string | null;
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
  /** The rule and its value as people say it. */
  words: string;
  /** Who looks after it. */
  acknowledgedBy: string | null;
  acknowledgedAt: number | null;
}

export const FILE_STATES = ['pending', 'processing', 'batched', 'analyzed', 'skipped', 'failed'] as const;
export type FileState = (typeof FILE_STATES)[number];

/** The last scan of a root. */
export interface ScanView {
  root: string;
  outcome: 'running' | 'completed' | 'interrupted' | 'refused' | 'failed';
  worker: string;
  startedAt: number;
  finishedAt: number | null;
  folders: number;
  files: number;
  bytes: number;
  /** Files that were new or changed. */
  enqueued: number;
  errors: number;
  /** What the last complete scan of the root found: how far this one is, about. Null for a first scan. */
  expectedFiles: number | null;
}

export interface QueueView {
  queue: string;
  waiting: number;
  active: number;
  delayed: number;
  failed: number;
  oldestWaitingMs: number;
  paused: boolean;
}

/** A job that is put off: after a failure, or because the world was away. */
export interface DelayedJobView {
  id: string;
  name: string;
  enqueuedAt: number;
  nextAttemptAt: number;
  attemptsMade: number;
  lastError: string | null;
}

/** What ended in one minute of the last hour. */
export interface ThroughputPoint {
  at: number;
  delivered: number;
  failed: number;
  skipped: number;
}

/** A process of the fleet. */
export interface WorkerView {
  id: string;
  app: string;
  /** The queues that it takes jobs from, and how many it holds now. */
  jobs: { queue: string; active: number }[];
  lastSeenAt: number;
  /** `silent`: it has not shown itself for longer than a living one would. */
  state: 'alive' | 'silent';
}

/** The pipeline at a glance. */
export interface PipelineView {
  id: string;
  destination: Destination | null;
  /** When the tables were counted; the figures of a large pipeline are some seconds old. */
  at: number;
  /** Of each root, the one that began last first. */
  scans: ScanView[];
  files: Record<FileState, number>;
  bytes: Record<FileState, number>;
  /** Null while Redis is away. */
  queues: QueueView[] | null;
  batches: {
    total: number;
    /** Not delivered yet. */
    open: number;
    /** How much of their token budgets they use, from 0 to 1; null before the first. */
    meanFill: number | null;
  };
  events: { pending: number; dead: number; oldestPendingMs: number };
  letters: Record<LetterStatus, number>;
  /** An hour, a point a minute, the newest last. */
  throughput: ThroughputPoint[];
  /** Of what is known now, at the speed of the last minutes; null when it cannot be told, 0 when nothing is left. */
  remainingMs: number | null;
  /** Null while Redis is away. */
  workers: WorkerView[] | null;
}

export interface Stats {
  at: number;
  open: number;
  requeued: number;
  resolved: number;
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

/** A step of a file or batch on its way. */
export interface TimelineEntry {
  at: number;
  event: string;
}

/** A letter as it concerns a file or a batch, with every attempt that failed. */
export interface ConcernedLetter {
  id: number;
  queue: string;
  status: LetterStatus;
  errorName: string;
  errorMessage: string;
  attempts: LetterAttempt[];
  deadLetteredAt: number;
}

/** A part of a file revision in its batch. */
export interface BatchItemView {
  fileId: number;
  path: string;
  revision: number;
  part: number;
  parts: number;
  tokens: number;
  batchId: string;
  /** Null until the batch was delivered. `stale`: it had changed and was not sent with it. */
  outcome: 'delivered' | 'stale' | null;
  endedAt: number | null;
}

/** A file, where it stands and how it came there. */
export interface FileView {
  id: number;
  path: string;
  root: string;
  size: number;
  revision: number;
  status: FileState;
  removed: boolean;
  /** In words: why it is where it is. */
  explanation: string;
  skipReason: string | null;
  error: string | null;
  /** The file that was sent in its place. */
  duplicateOf: number | null;
  tokens: number | null;
  hash: string | null;
  /** Who holds it now. */
  worker: string | null;
  /** How often this revision was taken up. */
  claims: number;
  /** Of all revisions, the newest first. */
  items: BatchItemView[];
  letters: ConcernedLetter[];
  timeline: TimelineEntry[];
}

/** A batch, what is in it and how it fared. */
export interface BatchView {
  id: string;
  /** In words: how far it is. */
  explanation: string;
  totalTokens: number;
  maxTokens: number;
  itemCount: number;
  createdBy: string;
  createdAt: number;
  publishedAt: number | null;
  completedAt: number | null;
  /** What the destination said to it. */
  answer: unknown;
  event: { status: 'PENDING' | 'PUBLISHED' | 'DEAD'; attempts: number; lastError: string | null } | null;
  /** The first thousand. */
  items: BatchItemView[];
  letters: ConcernedLetter[];
  timeline: TimelineEntry[];
}
