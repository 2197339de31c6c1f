import { Contract } from './contract.js';
import { array, integer, json, object, oneOf, optional, string, type TypeOf } from './schema.js';

/** Default names of the queues; configuration may rename them. BullMQ refuses `:` in a name. */
export const QUEUE = {
  filesToBatch: 'files-to-batch-queue',
  fileAnalysis: 'file-analysis-queue',
  analysisCompleted: 'file-analysis-completed',
  deadLetter: 'dead-letter-queue',
} as const;

const traceparent = optional(string({ max: 64 }));
const id = string({ min: 1, max: 128 });
const path = string({ min: 1, max: 32_768 });

const batchFile = object({
  fileId: integer({ min: 1 }),
  revision: integer({ min: 1 }),
  path,
  pathBytes: optional(string({ max: 65_536 })),
  tokens: integer(),
  /** Which part of the file, counted from 1, of how many. */
  part: integer({ min: 1 }),
  parts: integer({ min: 1 }),
  /** The bytes of the part: from `start` up to, not including, `end`. */
  start: integer(),
  end: integer(),
  /** sha256 of these bytes as they were counted. */
  hash: string({ min: 1, max: 128 }),
});

const batchEvent = object({
  id,
  totalTokens: integer(),
  /** For people and other consumers: what is sent is what the rows of the batch say. A letter may have none of them. */
  files: array(batchFile),
  trace: traceparent,
});

const deadLetterAttempt = object({
  attempt: integer(),
  error: string({ max: 1_000_000 }),
  at: optional(integer()),
});

/** Why a job was given up: it threw, its worker died under it too often, its process crashed, or its payload was invalid. */
export const DEAD_LETTER_REASONS = ['error', 'stalled', 'crash', 'invalid'] as const;
const deadLetterReason = oneOf(...DEAD_LETTER_REASONS);

const deadLetter = object({
  queue: string({ min: 1, max: 512 }),
  jobId: string({ min: 1, max: 512 }),
  jobName: string({ max: 512 }),
  data: json,
  options: json,
  reason: deadLetterReason,
  errorName: string({ max: 512 }),
  errorMessage: string({ max: 1_000_000 }),
  /** The full stack of the last failure, with the stacks of its causes. */
  stack: string({ max: 4_000_000 }),
  attemptsMade: integer(),
  attempts: array(deadLetterAttempt),
  lastWorkerId: string({ max: 512 }),
  enqueuedAt: integer(),
  failedAt: integer(),
  deadLetteredAt: integer(),
  trace: traceparent,
});

/** One committed batch that wants to be analysed. */
export const BATCH_EVENT = new Contract('batch event', batchEvent);
export type BatchEvent = TypeOf<typeof batchEvent>;
export type BatchFile = TypeOf<typeof batchFile>;

/** A batch was delivered. For whoever wants to know: no app of ours reads its queue. */
export interface AnalysisCompleted {
  batchId: string;
  items: number;
}

/** A job that failed for good, with everything needed to understand and repeat it. */
export const DEAD_LETTER = new Contract('dead letter', deadLetter);
export type DeadLetter = TypeOf<typeof deadLetter>;
export type DeadLetterReason = TypeOf<typeof deadLetterReason>;
