import { randomBytes } from 'node:crypto';
import { Contract } from './contract.js';
import { array, distinct, integer, object, optional, string, type TypeOf } from './schema.js';

/** More than a producer ever puts in a job; a list beyond it was not made by one. */
export const MAX_FILES_PER_JOB = 1_000;

const file = {
  filePath: string({ min: 1, max: 32_768 }),
  fileSize: integer(),
  fileId: integer({ min: 1 }),
  revision: integer({ min: 1 }),
  /** The name's bytes in base64, when they are not UTF-8 and `filePath` only shows them. */
  pathBytes: optional(string({ max: 65_536 })),
};
const trace = optional(string({ max: 64 }));

const jobFile = object(file);
const singleJob = object({ ...file, trace });
const listJob = object({
  files: distinct(array(jobFile, { min: 1, max: MAX_FILES_PER_JOB }), 'fileId'),
  trace,
});

/** One file revision that wants to be batched. A hint: what is done about it, its row decides. */
export type JobFile = TypeOf<typeof jobFile>;
export type FileJob = TypeOf<typeof singleJob> | TypeOf<typeof listJob>;

/** File revisions that want to be batched: one, or a list of them. */
export const FILE_JOB = new Contract<FileJob>('file job', (value) =>
  (isList(value) ? listJob : singleJob)(value),
);

export function filesOf(job: FileJob): readonly JobFile[] {
  return isList(job) ? job.files : [job];
}

export function isList(value: unknown): value is { files: JobFile[] } {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'files');
}

/** The id of the job of a file revision that travels alone, whoever enqueues it. */
export function fileJobId({ id, revision }: { id: number; revision: number }): string {
  return `f-${id}-${revision}`;
}

/** The job that brings a file, as its row tells. */
export function jobOfFile(file: { id: number; revision: number; jobId: string | null }): string {
  return file.jobId ?? fileJobId(file);
}

/** An id for a job of several files. Their rows name it: a file whose row names another job has left this one. */
export function newListJobId(): string {
  return `g-${randomBytes(6).toString('base64url')}`;
}
