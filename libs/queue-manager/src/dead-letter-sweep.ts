import { BATCH_EVENT, DEAD_LETTER, type DeadLetter } from '#contracts';
import { answersTo } from '#redis';
import { faultPoint, systemClock, traceId } from '#service';
import { deadLetterId, enrich, type FailedJob, type RawJob } from './dead-letter.js';
import type { JobQueue } from './job-queue.js';

const PAGE = 50;
// Dead letters must outlast any outage of the one who takes them in.
const DEAD_LETTER_ATTEMPTS = 100;
const RETRY_FAILED_INTAKE_MS = 60_000;

/*
 * Removes jobs from the failed set.
 * KEYS[1] failed set; ARGV[1] key prefix of the queue; then pairs of job id and the score it was seen with.
 * Returns, for each pair, 1 if removed and 0 if the job has left the set or failed anew since.
 * Guarantee: a job that somebody requeued meanwhile is not touched.
 */
const REMOVE_IF_UNCHANGED = `
  local removed = {}
  for i = 2, #ARGV, 2 do
    local id, seen = ARGV[i], ARGV[i + 1]
    local score = redis.call('ZSCORE', KEYS[1], id)
    if score and tonumber(score) == tonumber(seen) then
      redis.call('ZREM', KEYS[1], id)
      local key = ARGV[1] .. id
      redis.call('DEL', key, key .. ':logs', key .. ':lock', key .. ':dependencies', key .. ':processed',
        key .. ':failed', key .. ':unsuccessful')
      removed[#removed + 1] = 1
    else
      removed[#removed + 1] = 0
    end
  end
  return removed
`;

/**
 * Copies what stands in the failed set of a queue to the dead-letter queue and only then removes it, until the set is empty or
 * `signal` aborts.
 * Guarantee: a permanent failure reaches the dead-letter queue whatever dies in between, under one id however often it
 * is copied. Any process may sweep, also several at once.
 */
export async function sweepFailedJobs(queue: JobQueue, signal: AbortSignal): Promise<void> {
  if (queue.name === queue.owner.settings.deadLetterQueue) return retryFailedIntake(queue);
  while (!signal.aborted) {
    const page = await readFailed(queue);
    if (page.length === 0) return;
    await deadLetter(queue, page);
  }
}

async function deadLetter(queue: JobQueue, jobs: readonly FailedJob[]): Promise<void> {
  await faultPoint('queue-manager.before-dead-letter');
  const letters = jobs.map((job) => enrich(job, systemClock.now()));
  const { owner } = queue;
  await owner.enqueueJobs(
    owner.settings.deadLetterQueue,
    DEAD_LETTER,
    letters.map((payload, index) => ({
      payload,
      jobId: deadLetterId(jobs[index] as FailedJob),
      attempts: DEAD_LETTER_ATTEMPTS,
    })),
  );
  await faultPoint('queue-manager.after-dead-letter');
  const seen = jobs.flatMap(({ jobId, failedAt }) => [jobId, failedAt]);
  const removed = (await queue.ask('remove dead-lettered jobs of', (client) =>
    client.eval(REMOVE_IF_UNCHANGED, 1, queue.toKey('failed'), queue.toKey(''), ...seen),
  )) as number[];
  letters.forEach((letter, index) => {
    if (removed[index] === 1) report(queue, letter);
  });
}

function report({ owner }: JobQueue, letter: DeadLetter): void {
  const { queue, jobId, reason, errorName, errorMessage, attemptsMade } = letter;
  owner.metrics.deadLetters.inc({ queue, reason });
  owner.settings.logger.error(
    {
      ...{ queue, job_id: jobId, reason, error: `${errorName}: ${errorMessage}`, attempts: attemptsMade },
      ...originOf(letter),
    },
    'job is dead-lettered',
  );
}

// A dead letter that could not be taken in has nowhere else to go: it is tried again until it can.
async function retryFailedIntake(queue: JobQueue): Promise<void> {
  const timestamp = systemClock.now() - RETRY_FAILED_INTAKE_MS;
  await queue.ask('retry failed jobs of', () => queue.retryJobs({ state: 'failed', count: PAGE, timestamp }));
}

function readFailed(queue: JobQueue): Promise<FailedJob[]> {
  return queue.ask('read failed jobs of', async (client) => {
    const flat = await client.zrange(queue.toKey('failed'), 0, PAGE - 1, 'WITHSCORES');
    const entries = flat.flatMap((jobId, index) =>
      index % 2 === 0 ? [{ queue: queue.name, jobId, failedAt: Number(flat[index + 1]) }] : [],
    );
    const pipeline = client.pipeline();
    for (const { jobId } of entries) pipeline.hgetall(queue.toKey(jobId));
    const records = (await answersTo(pipeline)) as RawJob[];
    return entries.map((entry, index) => ({ ...entry, raw: records[index] ?? {} }));
  });
}

/** By which the line is found from the trace and from the batch, and these from the line. */
function originOf({ trace, data }: DeadLetter): { trace_id?: string; batch_id?: string } {
  const trace_id = trace && traceId(trace);
  const id = BATCH_EVENT.faultsOf(data).length === 0 ? BATCH_EVENT.parse(data).id : undefined;
  return { ...(trace_id && { trace_id }), ...(id && { batch_id: id }) };
}
