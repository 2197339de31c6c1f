import type { Destination } from '#contracts';
import { BULK_KINDS, FILE_STATES, LETTER_STATUSES, REASONS, ROLES, type FileState } from './api.js';
import { always, anything, fields, flag, int, list, map, number } from './schema.js';
import { oneOf, orNull, ref, text, type Schema, type Shape } from './schema.js';

/** What dlq-admin answers: each shape once, as a schema with examples and as the type of those who read it. */

const at = int(1_763_430_400_000);
const BATCH_ID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const QUEUE = text('files-to-batch-queue');
const WORKER = text('batcher-host-1a2b3c4d');
const ADA = text('ada (0a1b2c3d4e5f)');

const page = (items: string): Schema =>
  fields({
    items: list(ref(items)),
    next: orNull(text('MTc2MzQzMDQwMDAwMC4x', { description: 'The cursor of the next page.' })),
  });
const byState = (example: number): Schema<Record<FileState, number>> =>
  fields(Object.fromEntries(FILE_STATES.map((state) => [state, int(example)]))) as Schema<
    Record<FileState, number>
  >;
const counted = list(fields({ reason: text('not-open'), count: int(2) }));

/** RFC 9457. */
const Problem = fields(
  {
    type: text('about:blank'),
    title: text('Not Found'),
    status: int(404),
    detail: text('there is no such dead letter, or your key may not see it'),
    code: text('NOT_FOUND'),
    traceId: text('0af7651916cd43dd8448eb211c80319c'),
    errors: list(fields({ path: text('limit'), message: text('limit must not be greater than 200') })),
  },
  ['traceId', 'errors'],
);

const SUMMARY = {
  id: int(42),
  queue: QUEUE,
  jobId: text('f-7-1'),
  name: text('file'),
  reason: oneOf(REASONS),
  errorName: text('TypeError'),
  /** Cut at 500 characters in lists. */
  errorMessage: text('cannot read properties of undefined'),
  group: text('1f0c3a5b7d9e2f40'),
  attemptsMade: int(5),
  lastWorkerId: WORKER,
  enqueuedAt: at,
  failedAt: at,
  deadLetteredAt: at,
  status: oneOf(LETTER_STATUSES),
  replayCount: int(0),
  replayedAt: orNull(at),
  /** When its requeued job succeeded, and which batch, or else which job, that was. */
  resolvedAt: orNull(at),
  resolvedBy: orNull(text(BATCH_ID)),
  note: orNull(text('known since Monday')),
  /** For `If-Match` when editing. */
  version: int(1),
};
const LetterSummary = fields(SUMMARY);
const Attempt = fields({ attempt: int(1), error: text('TypeError: cannot read'), at }, ['at']);
const History = fields({ at, actor: ADA, event: text('requeued'), details: map({ replay: 1 }) });
const LetterDetail = fields({
  ...SUMMARY,
  /** Null for viewers: payload and stack are for operators. */
  payload: anything({ fileId: 7, revision: 1 }),
  stack: orNull(text('TypeError: cannot read\n    at read (reader.js:1:1)')),
  hidden: flag(false),
  /** Where secrets were masked; each must be given anew before the letter can be requeued. */
  redactedPaths: list(text('user.password')),
  /** What is wrong with the payload by the contract of its queue; empty when it could run. */
  faults: list(
    fields({ path: text('fileId'), found: text('a string'), rule: text('must be a whole number') }),
  ),
  options: map({ attempts: 5 }),
  attempts: list(Attempt),
  history: list(History),
  replayJobId: orNull(text('e-0a1b')),
  trace: orNull(text('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')),
  /** Where its trace is looked at; null when it has none, or nobody has said where. */
  traceUrl: orNull(text('https://jaeger.example/trace/0af7651916cd43dd8448eb211c80319c')),
});

const Group = fields({
  id: text('1f0c3a5b7d9e2f40'),
  errorName: text('TypeError'),
  /** What its messages have in common. */
  message: text('cannot read <path>'),
  /** The newest message as it was; null for a key that does not see all queues. */
  newest: orNull(text('cannot read /srv/documents/a.txt')),
  frame: text('read (reader.js)'),
  note: orNull(text('the disk of host 3')),
  owner: orNull(text('ada')),
  /** Until then its letters raise no alert. */
  mutedUntil: orNull(at),
  /** The group that its letters went to, and go to. */
  mergedInto: orNull(text('5b7d9e2f401f0c3a')),
  /** The field by which its letters went, and go, to groups of their own. */
  splitBy: orNull(text('queue')),
  firstSeenAt: at,
  lastSeenAt: at,
  total: int(12),
  open: int(3),
  queues: list(fields({ queue: QUEUE, total: int(12), open: int(3) })),
  workers: list(fields({ worker: WORKER, total: int(12) })),
  /** How many letters came in each of the last 24 hours, the present one last. */
  recent: list(int(3)),
});

const BulkPreview = fields({
  dryRun: always(true),
  total: int(12),
  /** How many would be done, and why the others would not. */
  eligible: int(10),
  skipped: counted,
  reasons: list(
    fields({ group: text('1f0c'), errorName: text('TypeError'), message: text('cannot'), count: int(12) }),
  ),
  queues: list(fields({ queue: QUEUE, count: int(12) })),
  /** Sent back as `confirm`, it permits what was shown here and no more. */
  confirm: text(`42.12.${'0'.repeat(64)}`),
});
const BulkAction = fields({
  id: text(BATCH_ID, { format: 'uuid' }),
  kind: oneOf(BULK_KINDS),
  /** `pending`: nothing happens until another key approves it. */
  status: oneOf(['pending', 'frozen', 'running', 'completed', 'aborted', 'stopped']),
  selection: map({ filter: { status: 'open' } }),
  ratePerSecond: orNull(int(50)),
  canary: orNull(fields({ steps: list(int(1)), maxFailures: int(0), step: int(0), waiting: flag(false) })),
  /** Those done, skipped and waiting together. */
  total: int(12),
  done: int(10),
  skipped: int(2),
  /** Not touched yet; once it was stopped or aborted: never, unless it is continued. */
  waiting: int(0),
  /** Of those done. */
  failedAgain: int(0),
  skippedReasons: counted,
  reason: orNull(text('aborted by ada (0a1b2c3d4e5f)')),
  createdBy: ADA,
  createdAt: at,
  finishedAt: orNull(at),
  /** Until when another key has to approve it; null when nobody has to. */
  approveBefore: orNull(at),
  approvedBy: orNull(text('bob (5f4e3d2c1b0a)')),
});

const DeadEvent = fields({
  id: text(BATCH_ID),
  queue: text('file-analysis-queue'),
  eventName: text('batch-created'),
  attempts: int(10),
  createdAt: at,
  lastError: orNull(text('Connection is closed.')),
  /** Null for viewers. */
  payload: anything({ batchId: '3f2504e0' }),
});
const AuditRow = fields({
  id: int(7),
  at,
  actor: ADA,
  role: orNull(text('operator')),
  keyId: orNull(text('0a1b2c3d4e5f')),
  ip: orNull(text('192.0.2.7')),
  action: text('letter.discard'),
  target: orNull(text('letter:42')),
  before: anything({ status: 'open' }),
  after: anything({ status: 'discarded' }),
  result: text('ok'),
  reason: orNull(text('known since Monday')),
  hash: text('0'.repeat(64)),
});

const Alert = fields({
  rule: text('depth>100/50'),
  state: oneOf(['ok', 'firing']),
  value: number(120),
  since: at,
  /** The rule and its value as people say it. */
  words: text('120 open letters: over 100; clears at 50'),
  /** Who looks after it. */
  acknowledgedBy: orNull(ADA),
  acknowledgedAt: orNull(at),
});
const QueueStat = fields({ queue: QUEUE, open: int(3), total: int(12), oldestAt: orNull(at) });
const DepthPoint = fields({ at, depth: int(3), arrivals: int(1) });
const byStatus = { open: int(3), requeued: int(1), resolved: int(120), discarded: int(0) };
const Stats = fields({
  at,
  ...byStatus,
  deadEvents: int(0),
  /** Dead letters that wait in Redis to be taken in; null while Redis is away. */
  waiting: orNull(int(0)),
  queues: list(QueueStat),
  depth: list(DepthPoint),
  alerts: list(ref('Alert', Alert)),
});

const KEY = {
  id: text('0a1b2c3d4e5f'),
  name: text('ci'),
  role: oneOf(ROLES),
  queues: orNull(list(QUEUE)),
  createdBy: text('ADMIN_KEY (env)'),
  createdAt: at,
  expiresAt: orNull(at),
  revokedAt: orNull(at),
  lastUsedAt: orNull(at),
  replaces: orNull(text('0a1b2c3d4e5f')),
};
const Key = fields(KEY);
/** The only answer that holds a key in clear. */
const NewKey = fields({ ...KEY, key: text('mr_0a1b2c3d4e5f_…, shown once') });
const Session = fields({
  mode: oneOf(['key', 'session', 'loopback']),
  name: text('ada'),
  role: oneOf(ROLES),
  queues: orNull(list(QUEUE)),
  csrfToken: orNull(text('for the header X-CSRF-Token')),
  expiresAt: orNull(at),
});
/** Signs a browser in once, as the key that asked for it. */
const SignInCode = fields({ code: text('A'.repeat(43)), expiresAt: at });

/** The last scan of a root. */
const Scan = fields({
  root: text('/srv/documents'),
  outcome: oneOf(['running', 'completed', 'interrupted', 'refused', 'failed']),
  worker: text('producer-host-1a2b3c4d'),
  startedAt: at,
  finishedAt: orNull(at),
  folders: int(120),
  files: int(3_000),
  bytes: int(45_000_000),
  /** Files that were new or changed. */
  enqueued: int(3_000),
  errors: int(0),
  /** What the last complete scan of the root found: how far this one is, about. Null for a first scan. */
  expectedFiles: orNull(int(2_990)),
});
const Queue = fields({
  queue: QUEUE,
  waiting: int(420),
  active: int(12),
  delayed: int(1),
  failed: int(0),
  oldestWaitingMs: int(1_500),
  paused: flag(false),
});
/** A job that is put off: after a failure, or because the world was away. */
const DelayedJob = fields({
  id: text('f-7-1'),
  name: text('file'),
  enqueuedAt: at,
  nextAttemptAt: at,
  attemptsMade: int(2),
  lastError: orNull(text('EIO: i/o error, read')),
});
/** What ended in one minute of the last hour. */
const ThroughputPoint = fields({ at, delivered: int(250), failed: int(2), skipped: int(5) });
/** A process of the fleet. */
const Worker = fields({
  id: WORKER,
  app: text('batcher'),
  /** The queues that it takes jobs from, and how many it holds now. */
  jobs: list(fields({ queue: QUEUE, active: int(12) })),
  lastSeenAt: at,
  /** `silent`: it has not shown itself for longer than a living one would. */
  state: oneOf(['alive', 'silent']),
});
/** The pipeline at a glance. */
const Pipeline = fields({
  id: text(BATCH_ID),
  destination: anything<Destination | null>({ sink: 'write', address: '/batches', format: 'markdown' }),
  /** When the tables were counted; the figures of a large pipeline are some seconds old. */
  at,
  /** Of each root, the one that began last first. */
  scans: list(Scan),
  files: byState(1_000),
  bytes: byState(15_000_000),
  /** Null while Redis is away. */
  queues: orNull(list(ref('Queue', Queue))),
  /** `open`: not delivered yet; `meanFill`: of their token budgets, from 0 to 1, null before the first. */
  batches: fields({ total: int(40), open: int(3), meanFill: orNull(number(0.97)) }),
  events: fields({ pending: int(1), dead: int(0), oldestPendingMs: int(40) }),
  letters: fields(byStatus),
  /** An hour, a point a minute, the newest last. */
  throughput: list(ThroughputPoint),
  /** Of what is known now, at the speed of the last minutes; null when it cannot be told, 0 when nothing is left. */
  remainingMs: orNull(int(240_000)),
  /** Null while Redis is away. */
  workers: orNull(list(Worker)),
});

/** A part of a file revision in its batch. */
const BatchItem = fields({
  fileId: int(7),
  path: text('/srv/documents/a.txt'),
  revision: int(1),
  part: int(1),
  parts: int(1),
  tokens: int(512),
  batchId: text(BATCH_ID),
  /** Null until the batch was delivered. `stale`: it had changed and was not sent with it. */
  outcome: orNull(oneOf(['delivered', 'stale'])),
  endedAt: orNull(at),
});
/** A letter as it concerns a file or a batch, with every attempt that failed. */
const ConcernedLetter = fields({
  id: int(42),
  queue: text('file-analysis-queue'),
  status: oneOf(LETTER_STATUSES),
  errorName: text('RefusedError'),
  errorMessage: text('the destination answered with status 413'),
  attempts: list(Attempt),
  deadLetteredAt: at,
});
/** A step of a file or batch on its way. */
const TimelineEntry = fields({ at, event: text('first seen by a scan') });
const story = {
  /** Of a file, of all revisions, the newest first; of a batch, the first thousand. */
  items: list(ref('BatchItem', BatchItem)),
  letters: list(ref('ConcernedLetter', ConcernedLetter)),
  timeline: list(TimelineEntry),
};
/** A file, where it stands and how it came there. */
const File = fields({
  id: int(7),
  path: text('/srv/documents/a.txt'),
  root: text('/srv/documents'),
  size: int(2_048),
  revision: int(1),
  status: oneOf(FILE_STATES),
  removed: flag(false),
  /** In words: why it is where it is. */
  explanation: text(`It was delivered in batch ${BATCH_ID}.`),
  skipReason: orNull(text('binary')),
  error: orNull(text('EACCES')),
  /** The file that was sent in its place. */
  duplicateOf: orNull(int(3)),
  tokens: orNull(int(512)),
  hash: orNull(text('0'.repeat(64))),
  /** Who holds it now. */
  worker: orNull(WORKER),
  /** How often this revision was taken up. */
  claims: int(0),
  ...story,
});
const BatchEventState = fields({
  status: oneOf(['PENDING', 'PUBLISHED', 'DEAD']),
  attempts: int(1),
  lastError: orNull(text('Connection is closed.')),
});
/** A batch, what is in it and how it fared. */
const Batch = fields({
  id: text(BATCH_ID),
  /** In words: how far it is. */
  explanation: text('It was delivered.'),
  totalTokens: int(97_000),
  maxTokens: int(100_000),
  itemCount: int(31),
  createdBy: WORKER,
  createdAt: at,
  publishedAt: orNull(at),
  completedAt: orNull(at),
  /** What the destination said to it. */
  answer: anything({ accepted: 31 }),
  event: orNull(ref('BatchEventState', BatchEventState)),
  ...story,
});

export type Problem = Shape<typeof Problem>;
export type LetterSummary = Shape<typeof LetterSummary>;
export type LetterDetail = Shape<typeof LetterDetail>;
export type HistoryEntry = Shape<typeof History>;
export type Group = Shape<typeof Group>;
export type BulkPreview = Shape<typeof BulkPreview>;
export type BulkAction = Shape<typeof BulkAction>;
export type DeadEvent = Shape<typeof DeadEvent>;
export type AuditRow = Shape<typeof AuditRow>;
export type AlertView = Shape<typeof Alert>;
export type QueueStat = Shape<typeof QueueStat>;
export type DepthPoint = Shape<typeof DepthPoint>;
export type Stats = Shape<typeof Stats>;
export type KeyView = Shape<typeof Key>;
export type NewKey = Shape<typeof NewKey>;
export type SessionView = Shape<typeof Session>;
export type SignInCode = Shape<typeof SignInCode>;
export type ScanView = Shape<typeof Scan>;
export type QueueView = Shape<typeof Queue>;
export type DelayedJobView = Shape<typeof DelayedJob>;
export type ThroughputPoint = Shape<typeof ThroughputPoint>;
export type PipelineView = Shape<typeof Pipeline>;
export type BatchItemView = Shape<typeof BatchItem>;
export type ConcernedLetter = Shape<typeof ConcernedLetter>;
export type TimelineEntry = Shape<typeof TimelineEntry>;
export type FileView = Shape<typeof File>;
export type BatchView = Shape<typeof Batch>;

/** By their names in the OpenAPI document. */
export const SCHEMAS = {
  Problem,
  LetterSummary,
  LetterDetail,
  Group,
  BulkPreview,
  BulkAction,
  DeadEvent,
  AuditRow,
  Alert,
  Stats,
  Key,
  NewKey,
  Session,
  SignInCode,
  Pipeline,
  Queue,
  DelayedJob,
  BatchItem,
  ConcernedLetter,
  File,
  Batch,
  BatchEventState,
  LetterPage: page('LetterSummary'),
  GroupPage: page('Group'),
  BulkActionPage: page('BulkAction'),
  DeadEventPage: page('DeadEvent'),
  AuditPage: page('AuditRow'),
  KeyPage: page('Key'),
  QueuePage: page('Queue'),
  DelayedJobPage: page('DelayedJob'),
  Revived: fields({ id: text(BATCH_ID), revived: flag(true) }),
  Promoted: fields({ job: text('f-7-1'), promoted: flag(true) }),
  SignedOut: fields({ signedOut: flag(true) }),
  ChainReport: map({ ok: true, rows: 7 }),
  Health: map({ status: 'ok', info: {}, error: {}, details: {} }),
  Document: map({ openapi: '3.1.0' }),
} satisfies Record<string, Schema>;
