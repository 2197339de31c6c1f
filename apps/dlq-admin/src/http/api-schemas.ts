import {
  BULK_KINDS,
  FILE_STATES,
  LETTER_STATUSES,
  REASONS,
  ROLES,
  type AlertView,
  type AuditRow,
  type BatchItemView,
  type BatchView,
  type BulkAction,
  type BulkPreview,
  type ConcernedLetter,
  type DeadEvent,
  type DelayedJobView,
  type DepthPoint,
  type FileView,
  type Group,
  type HistoryEntry,
  type KeyView,
  type LetterAttempt,
  type LetterDetail,
  type LetterSummary,
  type PipelineView,
  type Problem,
  type QueueStat,
  type QueueView,
  type ScanView,
  type SessionView,
  type SignInCode,
  type Stats,
  type ThroughputPoint,
  type TimelineEntry,
  type WorkerView,
} from '#dlq-client';

/** As much of JSON Schema 2020-12 as the answers need. */
export type Schema = Readonly<Record<string, unknown>>;

const text = (example: string, more: Schema = {}): Schema => ({
  type: 'string',
  examples: [example],
  ...more,
});
const int = (example: number): Schema => ({ type: 'integer', examples: [example] });
const flag = (example: boolean): Schema => ({ type: 'boolean', examples: [example] });
const oneOf = (values: readonly string[]): Schema => ({
  type: 'string',
  enum: values,
  examples: [values[0]],
});
const list = (items: Schema): Schema => ({ type: 'array', items });
const orNull = (schema: Schema): Schema =>
  '$ref' in schema
    ? { anyOf: [schema, { type: 'null' }] }
    : {
        ...schema,
        type: [schema.type, 'null'].flat(),
        ...('enum' in schema && { enum: [...(schema.enum as []), null] }),
      };
const anything = (example: unknown): Schema => ({ examples: [example] });
const map = (example: object): Schema => ({
  type: 'object',
  additionalProperties: true,
  examples: [example],
});
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** An object with exactly the fields of its type; the compiler misses a forgotten one. */
function fields<T extends object>(
  properties: { [K in keyof Required<T>]: Schema },
  optional: readonly (keyof T)[] = [],
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name as keyof T));
  return { type: 'object', properties, required, additionalProperties: false };
}

const page = (items: string): Schema =>
  fields({
    items: list(ref(items)),
    next: orNull(text('MTc2MzQzMDQwMDAwMC4x', { description: 'The cursor of the next page.' })),
  });

const byState = (example: number): Schema =>
  fields(Object.fromEntries(FILE_STATES.map((state) => [state, int(example)])));
const at = int(1_763_430_400_000);
const counted = fields({ reason: text('not-open'), count: int(2) });

const ATTEMPT = fields<LetterAttempt>({ attempt: int(1), error: text('TypeError: cannot read'), at }, ['at']);
const TIMELINE = list(fields<TimelineEntry>({ at, event: text('first seen by a scan') }));
const BATCH_ID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';

const SUMMARY: { [K in keyof LetterSummary]: Schema } = {
  id: int(42),
  queue: text('files-to-batch-queue'),
  jobId: text('f-7-1'),
  name: text('file'),
  reason: oneOf(REASONS),
  errorName: text('TypeError'),
  errorMessage: text('cannot read properties of undefined'),
  group: text('1f0c3a5b7d9e2f40'),
  attemptsMade: int(5),
  lastWorkerId: text('batcher-host-1a2b3c4d'),
  enqueuedAt: at,
  failedAt: at,
  deadLetteredAt: at,
  status: oneOf(LETTER_STATUSES),
  replayCount: int(0),
  replayedAt: orNull(at),
  resolvedAt: orNull(at),
  resolvedBy: orNull(text('3f2504e0-4f89-41d3-9a0c-0305e82c3301')),
  note: orNull(text('known since Monday')),
  version: int(1),
};

const KEY: { [K in keyof KeyView]: Schema } = {
  id: text('0a1b2c3d4e5f'),
  name: text('ci'),
  role: oneOf(ROLES),
  queues: orNull(list(text('files-to-batch-queue'))),
  createdBy: text('ADMIN_KEY (env)'),
  createdAt: at,
  expiresAt: orNull(at),
  revokedAt: orNull(at),
  lastUsedAt: orNull(at),
  replaces: orNull(text('0a1b2c3d4e5f')),
};

const named = {
  Problem: fields<Problem>(
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
  ),
  LetterSummary: fields<LetterSummary>(SUMMARY),
  LetterPage: page('LetterSummary'),
  LetterDetail: fields<LetterDetail>({
    ...SUMMARY,
    payload: anything({ fileId: 7, revision: 1 }),
    stack: orNull(text('TypeError: cannot read\n    at read (reader.js:1:1)')),
    hidden: flag(false),
    redactedPaths: list(text('user.password')),
    faults: list(
      fields({ path: text('fileId'), found: text('a string'), rule: text('must be a whole number') }),
    ),
    options: map({ attempts: 5 }),
    attempts: list(ATTEMPT),
    history: list(
      fields<HistoryEntry>({
        at,
        actor: text('ada (0a1b2c3d4e5f)'),
        event: text('requeued'),
        details: map({ replay: 1 }),
      }),
    ),
    replayJobId: orNull(text('e-0a1b')),
    trace: orNull(text('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')),
    traceUrl: orNull(text('https://jaeger.example/trace/0af7651916cd43dd8448eb211c80319c')),
  }),
  Group: fields<Group>({
    id: text('1f0c3a5b7d9e2f40'),
    errorName: text('TypeError'),
    message: text('cannot read <path>'),
    newest: orNull(text('cannot read /srv/documents/a.txt')),
    frame: text('read (reader.js)'),
    note: orNull(text('the disk of host 3')),
    owner: orNull(text('ada')),
    mutedUntil: orNull(at),
    mergedInto: orNull(text('5b7d9e2f401f0c3a')),
    splitBy: orNull(text('queue')),
    firstSeenAt: at,
    lastSeenAt: at,
    total: int(12),
    open: int(3),
    queues: list(fields({ queue: text('files-to-batch-queue'), total: int(12), open: int(3) })),
    workers: list(fields({ worker: text('batcher-1'), total: int(12) })),
    recent: list(int(3)),
  }),
  GroupPage: page('Group'),
  BulkPreview: fields<BulkPreview>({
    dryRun: { const: true, examples: [true] },
    total: int(12),
    eligible: int(10),
    skipped: list(counted),
    reasons: list(
      fields({ group: text('1f0c'), errorName: text('TypeError'), message: text('cannot'), count: int(12) }),
    ),
    queues: list(fields({ queue: text('files-to-batch-queue'), count: int(12) })),
    confirm: text(`42.12.${'0'.repeat(64)}`),
  }),
  BulkAction: fields<BulkAction>({
    id: text('3f2504e0-4f89-41d3-9a0c-0305e82c3301', { format: 'uuid' }),
    kind: oneOf(BULK_KINDS),
    status: oneOf(['pending', 'frozen', 'running', 'completed', 'aborted', 'stopped']),
    selection: map({ filter: { status: 'open' } }),
    ratePerSecond: orNull(int(50)),
    canary: orNull(fields({ steps: list(int(1)), maxFailures: int(0), step: int(0), waiting: flag(false) })),
    total: int(12),
    done: int(10),
    skipped: int(2),
    waiting: int(0),
    failedAgain: int(0),
    skippedReasons: list(counted),
    reason: orNull(text('aborted by ada (0a1b2c3d4e5f)')),
    createdBy: text('ada (0a1b2c3d4e5f)'),
    createdAt: at,
    finishedAt: orNull(at),
    approveBefore: orNull(at),
    approvedBy: orNull(text('bob (5f4e3d2c1b0a)')),
  }),
  BulkActionPage: page('BulkAction'),
  DeadEvent: fields<DeadEvent>({
    id: text('3f2504e0-4f89-41d3-9a0c-0305e82c3301'),
    queue: text('file-analysis-queue'),
    eventName: text('batch-created'),
    attempts: int(10),
    createdAt: at,
    lastError: orNull(text('Connection is closed.')),
    payload: anything({ batchId: '3f2504e0' }),
  }),
  DeadEventPage: page('DeadEvent'),
  Revived: fields({ id: text('3f2504e0-4f89-41d3-9a0c-0305e82c3301'), revived: flag(true) }),
  AuditRow: fields<AuditRow>({
    id: int(7),
    at,
    actor: text('ada (0a1b2c3d4e5f)'),
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
  }),
  AuditPage: page('AuditRow'),
  ChainReport: map({ ok: true, rows: 7 }),
  Stats: fields<Stats>({
    at,
    open: int(3),
    requeued: int(1),
    resolved: int(120),
    discarded: int(0),
    deadEvents: int(0),
    waiting: orNull(int(0)),
    queues: list(
      fields<QueueStat>({
        queue: text('files-to-batch-queue'),
        open: int(3),
        total: int(12),
        oldestAt: orNull(at),
      }),
    ),
    depth: list(fields<DepthPoint>({ at, depth: int(3), arrivals: int(1) })),
    alerts: list(ref('Alert')),
  }),
  Alert: fields<AlertView>({
    rule: text('depth>100/50'),
    state: oneOf(['ok', 'firing']),
    value: { type: 'number', examples: [120] },
    since: at,
    words: text('120 open letters: over 100; clears at 50'),
    acknowledgedBy: orNull(text('ada (0a1b2c3d4e5f)')),
    acknowledgedAt: orNull(at),
  }),
  Key: fields<KeyView>(KEY),
  KeyPage: page('Key'),
  NewKey: fields({ ...KEY, key: text('mr_0a1b2c3d4e5f_…, shown once') }),
  Session: fields<SessionView>({
    mode: oneOf(['key', 'session', 'loopback']),
    name: text('ada'),
    role: oneOf(ROLES),
    queues: orNull(list(text('files-to-batch-queue'))),
    csrfToken: orNull(text('for the header X-CSRF-Token')),
    expiresAt: orNull(at),
  }),
  SignedOut: fields({ signedOut: flag(true) }),
  SignInCode: fields<SignInCode>({ code: text('A'.repeat(43)), expiresAt: at }),
  Pipeline: fields<PipelineView>({
    id: text('3f2504e0-4f89-41d3-9a0c-0305e82c3301'),
    destination: anything({ sink: 'write', address: '/batches', format: 'markdown' }),
    at,
    scans: list(
      fields<ScanView>({
        root: text('/srv/documents'),
        outcome: oneOf(['running', 'completed', 'interrupted', 'refused', 'failed']),
        worker: text('producer-host-1a2b3c4d'),
        startedAt: at,
        finishedAt: orNull(at),
        folders: int(120),
        files: int(3_000),
        bytes: int(45_000_000),
        enqueued: int(3_000),
        errors: int(0),
        expectedFiles: orNull(int(2_990)),
      }),
    ),
    files: byState(1_000),
    bytes: byState(15_000_000),
    queues: orNull(list(ref('Queue'))),
    batches: fields<PipelineView['batches']>({
      total: int(40),
      open: int(3),
      meanFill: orNull({ type: 'number', examples: [0.97] }),
    }),
    events: fields<PipelineView['events']>({ pending: int(1), dead: int(0), oldestPendingMs: int(40) }),
    letters: fields<PipelineView['letters']>({
      open: int(3),
      requeued: int(1),
      resolved: int(120),
      discarded: int(0),
    }),
    throughput: list(fields<ThroughputPoint>({ at, delivered: int(250), failed: int(2), skipped: int(5) })),
    remainingMs: orNull(int(240_000)),
    workers: orNull(
      list(
        fields<WorkerView>({
          id: text('batcher-host-1a2b3c4d'),
          app: text('batcher'),
          jobs: list(fields({ queue: text('files-to-batch-queue'), active: int(12) })),
          lastSeenAt: at,
          state: oneOf(['alive', 'silent']),
        }),
      ),
    ),
  }),
  Queue: fields<QueueView>({
    queue: text('files-to-batch-queue'),
    waiting: int(420),
    active: int(12),
    delayed: int(1),
    failed: int(0),
    oldestWaitingMs: int(1_500),
    paused: flag(false),
  }),
  QueuePage: page('Queue'),
  DelayedJob: fields<DelayedJobView>({
    id: text('f-7-1'),
    name: text('file'),
    enqueuedAt: at,
    nextAttemptAt: at,
    attemptsMade: int(2),
    lastError: orNull(text('EIO: i/o error, read')),
  }),
  DelayedJobPage: page('DelayedJob'),
  Promoted: fields({ job: text('f-7-1'), promoted: flag(true) }),
  BatchItem: fields<BatchItemView>({
    fileId: int(7),
    path: text('/srv/documents/a.txt'),
    revision: int(1),
    part: int(1),
    parts: int(1),
    tokens: int(512),
    batchId: text(BATCH_ID),
    outcome: orNull(oneOf(['delivered', 'stale'])),
    endedAt: orNull(at),
  }),
  ConcernedLetter: fields<ConcernedLetter>({
    id: int(42),
    queue: text('file-analysis-queue'),
    status: oneOf(LETTER_STATUSES),
    errorName: text('RefusedError'),
    errorMessage: text('the destination answered with status 413'),
    attempts: list(ATTEMPT),
    deadLetteredAt: at,
  }),
  File: fields<FileView>({
    id: int(7),
    path: text('/srv/documents/a.txt'),
    root: text('/srv/documents'),
    size: int(2_048),
    revision: int(1),
    status: oneOf(FILE_STATES),
    removed: flag(false),
    explanation: text(`It was delivered in batch ${BATCH_ID}.`),
    skipReason: orNull(text('binary')),
    error: orNull(text('EACCES')),
    duplicateOf: orNull(int(3)),
    tokens: orNull(int(512)),
    hash: orNull(text('0'.repeat(64))),
    worker: orNull(text('batcher-host-1a2b3c4d')),
    claims: int(0),
    items: list(ref('BatchItem')),
    letters: list(ref('ConcernedLetter')),
    timeline: TIMELINE,
  }),
  Batch: fields<BatchView>({
    id: text(BATCH_ID),
    explanation: text('It was delivered.'),
    totalTokens: int(97_000),
    maxTokens: int(100_000),
    itemCount: int(31),
    createdBy: text('batcher-host-1a2b3c4d'),
    createdAt: at,
    publishedAt: orNull(at),
    completedAt: orNull(at),
    answer: anything({ accepted: 31 }),
    event: orNull(ref('BatchEventState')),
    items: list(ref('BatchItem')),
    letters: list(ref('ConcernedLetter')),
    timeline: TIMELINE,
  }),
  BatchEventState: fields<NonNullable<BatchView['event']>>({
    status: oneOf(['PENDING', 'PUBLISHED', 'DEAD']),
    attempts: int(1),
    lastError: orNull(text('Connection is closed.')),
  }),
  Health: map({ status: 'ok', info: {}, error: {}, details: {} }),
  Document: map({ openapi: '3.1.0' }),
} satisfies Record<string, Schema>;

export type SchemaName = keyof typeof named;

export const SCHEMAS: Readonly<Record<string, Schema>> = named;

/** A value that fits a schema, from the examples of its parts. */
export function exampleOf(schema: Schema): unknown {
  if (typeof schema.$ref === 'string') return exampleOf(SCHEMAS[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if (Array.isArray(schema.anyOf)) return exampleOf((schema.anyOf as Schema[])[0] ?? {});
  if ('items' in schema) return [exampleOf(schema.items as Schema)];
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  return Object.fromEntries(properties.map(([name, inner]) => [name, exampleOf(inner)]));
}
