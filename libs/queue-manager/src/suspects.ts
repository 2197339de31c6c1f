import { systemClock, type Clock } from '#service';
import { CrashedJobError, StalledJobError } from './errors.js';
import type { HeldJob } from './held-job.js';
import { giveUp, retryAfter, type JobOutcome } from './job-outcome.js';
import type { JobQueue } from './job-queue.js';
import type { Presence } from './presence.js';

/** Stalls after which a job is given up even though no worker was seen to die under it. */
const MAX_STALLS = 5;

const MAX_DEFER_MS = 15_000;
/** Suspects that come while one trial lasts: more keep few pauses between trials, and are sent away more often. */
const CROWD = 2;
const TRIAL = 'mr:trial';
const DOUBT = 'mr:doubt';
const STAGE = 'mr:stage';

// KEYS[1]: a job. ARGV: a command that writes to its hash. Runs it only while the job is there: on the key of one that Redis has
// lost it would leave what looks like a job and is in no list, and recovery would take it for one that is on its way.
const WRITE_IF_THERE = `
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))`;

/** How far a job of several parts has come. */
type Stage = 'begun' | 'passed';

type Suspect = Pick<HeldJob, 'jobId' | 'stalls'>;

interface Trial {
  stalls: number;
  presenceKey: string;
  workerId: string;
}

/**
 * Finds the job that kills its process among the hundreds that ran beside it.
 *
 * When a worker dies, all its jobs are delivered again as stalled. Each of these suspects gets a trial: for a moment it is
 * the only suspect that starts in this worker, and its hash says so. If the process dies then, that job did it and is
 * given up as `crash` (two deaths in all). A worker that had announced its stop is excused, and the stall is taken back.
 * A worker that still lives only stalled: after MAX_STALLS the job is given up as `stalled`.
 */
export class Suspects {
  /** The one on trial. */
  private current: { job: Suspect; startedAt: number; timer?: NodeJS.Timeout } | undefined;
  private typicalMs = 20;

  constructor(
    private readonly queue: JobQueue,
    private readonly presence: Presence,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Remembers whether a job of several parts has what could bring the process down before it or behind it. */
  async reached(stage: Stage, { jobId, stalls }: Suspect): Promise<void> {
    // Unwritten, the job is run whole once more; MAX_STALLS bounds that.
    await this.write('remember job', jobId, 'HSET', STAGE, stageOf(stage, stalls)).catch(() => {});
  }

  /** Whether it was in the middle of that when it stalled this time. One that stalls on and on is doubted all the same. */
  async doubts({ jobId, stalls }: Suspect): Promise<boolean> {
    const reached = await this.queue.ask('look at job of', (client) =>
      client.hget(this.queue.toKey(jobId), STAGE),
    );
    return reached === stageOf('begun', stalls - 1) || stalls > MAX_STALLS;
  }

  /** Begins the trial of a job that has stalled before, or says what becomes of it instead. */
  async admit(job: Suspect): Promise<JobOutcome | undefined> {
    const { jobId, stalls } = job;
    const [trial, doubt] = await this.queue.ask('read trial of', (client) =>
      client.hmget(this.queue.toKey(jobId), TRIAL, DOUBT),
    );
    const counted = await this.account(jobId, stalls, parseTrial(trial ?? null), doubt === '1');
    if (typeof counted !== 'number') return counted;
    if (counted > MAX_STALLS) return giveUp(new StalledJobError(counted), 'stalled');
    if (this.current) return retryAfter(await this.turn());
    await this.begin(job, counted);
    return undefined;
  }

  /** Ends the trial of the job, if it is on trial. One that survived what could bring the process down is acquitted. */
  end(job: Suspect, verdict: 'survived' | 'ended'): void {
    if (this.current?.job !== job) return;
    const { startedAt, timer } = this.current;
    clearTimeout(timer);
    this.current = undefined;
    this.typicalMs = 0.8 * this.typicalMs + 0.2 * (this.clock.monotonic() - startedAt);
    if (verdict === 'survived') this.write('end trial', job.jobId, 'HDEL', TRIAL).catch(() => {});
  }

  private async account(
    jobId: string,
    stalls: number,
    trial: Trial | null,
    doubted: boolean,
  ): Promise<number | JobOutcome> {
    if (!trial || stalls <= trial.stalls) return stalls;
    const presence = await this.presence.read(trial.presenceKey);
    if (presence === 'alive') return stalls;
    if (presence === 'stopping') return this.excuse(jobId);
    if (doubted) return giveUp(new CrashedJobError(trial.workerId), 'crash');
    await this.write('doubt job', jobId, 'HSET', DOUBT, '1');
    return retryAfter(this.queue.owner.settings.times.verifyMs);
  }

  private async excuse(jobId: string): Promise<number> {
    await this.write('excuse stall', jobId, 'HDEL', TRIAL, DOUBT);
    return this.write('excuse stall', jobId, 'HINCRBY', 'stc', '-1');
  }

  private async begin(job: Suspect, stalls: number): Promise<void> {
    const { workerId, times } = this.queue.owner.settings;
    this.current = { job, startedAt: this.clock.monotonic() };
    const record: Trial = { stalls, presenceKey: this.presence.key, workerId };
    try {
      await this.write('begin trial', job.jobId, 'HSET', TRIAL, JSON.stringify(record));
      await this.write('begin trial', job.jobId, 'HDEL', DOUBT);
    } catch (error) {
      this.current = undefined;
      throw error;
    }
    this.current.timer = setTimeout(() => this.end(job, 'survived'), times.trialMs);
  }

  private async write(what: string, jobId: string, ...command: string[]): Promise<number> {
    const key = this.queue.toKey(jobId);
    return Number(
      await this.queue.ask(`${what} of`, (client) => client.eval(WRITE_IF_THERE, 1, key, ...command)),
    );
  }

  // Suspects wait outside, not in the worker: one that kills the process must not make the others stall again. They come back
  // spread over the time that the trials of all that wait will take, as it is now and not as it was guessed for the first.
  private async turn(): Promise<number> {
    const waiting = await this.queue.ask('count delayed jobs of', (client) =>
      client.zcard(this.queue.toKey('delayed')),
    );
    const spreadMs = Math.min(MAX_DEFER_MS, (this.typicalMs * (waiting + 1)) / CROWD);
    return Math.ceil(this.typicalMs / CROWD + this.queue.owner.settings.random() * spreadMs);
  }
}

const stageOf = (stage: Stage, stalls: number): string => `${stage} ${stalls}`;

function parseTrial(text: string | null): Trial | null {
  if (text === null) return null;
  try {
    return JSON.parse(text) as Trial;
  } catch {
    return null;
  }
}
