import { fileJobId, newListJobId, type FileJob, type JobFile } from '#contracts';
import type { EnqueueItem } from '#queue-manager';
import type { QueueableFile } from './registration/registration.js';

// Small enough for work to spread over a fleet; a larger file has a job of its own.
const MAX_BYTES = 1_048_576;

/** Files that share a job, or one that has its own. */
export interface QueueableJob {
  jobId: string;
  files: QueueableFile[];
}

/** The jobs that neighbours share. A file that is not among them has a job of its own. */
export function shareJobs<F extends { size: number }>(
  files: readonly F[],
  filesPerJob: number,
): Map<F, string> {
  const jobs = new Map<F, string>();
  for (const group of groupsOf(files, { items: filesPerJob, bytes: MAX_BYTES })) {
    if (group.length === 1) continue;
    const jobId = newListJobId();
    for (const file of group) jobs.set(file, jobId);
  }
  return jobs;
}

/** Neighbours together, at most so many and so large; one that is larger stands alone. */
export function groupsOf<F extends { size: number }>(
  files: readonly F[],
  most: { items: number; bytes: number },
): F[][] {
  const groups: F[][] = [];
  let bytes = 0;
  for (const file of files) {
    const last = groups.at(-1);
    bytes += file.size;
    if (last && last.length < most.items && bytes <= most.bytes) last.push(file);
    else {
      groups.push([file]);
      bytes = file.size;
    }
  }
  return groups;
}

/** The jobs of files whose rows name them. */
export function jobsOf(files: readonly QueueableFile[]): QueueableJob[] {
  const jobs = new Map<string, QueueableFile[]>();
  for (const file of files) {
    const jobId = file.jobId ?? fileJobId(file);
    const shared = jobs.get(jobId);
    if (shared) shared.push(file);
    else jobs.set(jobId, [file]);
  }
  return [...jobs].map(([jobId, shared]) => ({ jobId, files: shared }));
}

/** What is put in the queue. A file alone has the form of the seed. */
export function itemOf({ jobId, files }: QueueableJob, trace: string): EnqueueItem<FileJob> {
  const [first] = files;
  const alone = first?.jobId === null;
  return { jobId, payload: alone ? { ...jobFile(first), trace } : { files: files.map(jobFile), trace } };
}

function jobFile({ id, revision, path, pathBytes, size }: QueueableFile): JobFile {
  const file: JobFile = { filePath: path, fileSize: size, fileId: id, revision };
  if (pathBytes !== null) file.pathBytes = pathBytes;
  return file;
}
