import { jobIdOf } from '#outbox';

/**
 * A requeue is an outbox event named after its letter and its number, so that the job it becomes can be traced back to
 * the letter whatever else is known of it.
 */
export const requeueEventId = (letterId: number, replay: number): string => `r-${letterId}-${replay}`;

/** The job id under which the event is published. */
export const requeueJobId = (letterId: number, replay: number): string =>
  jobIdOf(requeueEventId(letterId, replay));

export function parseRequeueJobId(jobId: string): { letterId: number; replay: number } | null {
  const match = /^e-r-(\d{1,15})-(\d{1,9})$/.exec(jobId);
  return match ? { letterId: Number(match[1]), replay: Number(match[2]) } : null;
}
