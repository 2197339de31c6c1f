import { statfs } from 'node:fs/promises';
import { messageOf, sleep } from '#service';
import { CLI_EXIT } from '../cli.errors.js';
import type { Ending } from '../fleet/child-app.js';
import { progressLine, progressLines } from './progress.js';
import type { Running } from './begin.js';

const DRAW_MS = 200;
const ASK_MS = 1_000;
const ASK_AFTER_MS = 10_000;
// Less than a batch, and than what Redis or SQLite write at once.
const ENOUGH_BYTES = 1_000_000;

/** Notices that a run does not move on. Pure: it is told what was counted, and when. */
export class Standstill {
  private last = '';
  private since = 0;

  /** Milliseconds for which the counts have been what they are now. */
  observe(counts: object, now: number): number {
    const text = JSON.stringify(counts);
    if (text !== this.last) this.restart(now);
    this.last = text;
    return now - this.since;
  }

  /** Counts from now on: for what stood still until now there was a reason that will pass. */
  restart(now: number): void {
    this.since = now;
  }
}

/** Draws how far a run is. When nothing moves, it tells why apps are not ready. */
export class ProgressView {
  private readonly startedAt = performance.now();
  private readonly standstill = new Standstill();
  private readonly reasons = new Set<string>();
  scanning = true;

  constructor(
    private readonly running: Running,
    /** Told when there are dead letters to look at. */
    private readonly onLetters: () => void,
  ) {}

  /** Resolves only when something that keeps an app from being ready has kept the run from moving for a while. */
  async watch(stop: AbortSignal): Promise<Ending> {
    for (let asked = -Infinity; !stop.aborted; await sleep(DRAW_MS, stop)) {
      this.draw();
      if (performance.now() - asked < ASK_MS) continue;
      asked = performance.now();
      const reason = await this.obstacle();
      if (reason && !stop.aborted)
        return {
          code: CLI_EXIT.failed,
          reason: `${reason}. Nothing is lost: fix it and run the same command again`,
        };
    }
    return new Promise(() => {});
  }

  private draw(): void {
    const { fleet, screen, before } = this.running;
    const elapsedMs = performance.now() - this.startedAt;
    const { done } = fleet;
    const progress = { elapsedMs, scanning: this.scanning, before, done };
    screen.draw(progressLines(progress), progressLine(progress));
    if (done.letters) this.onLetters();
  }

  /** What has kept the run from moving for so long that it will not pass; each reason is shown when first heard. */
  private async obstacle(): Promise<string | undefined> {
    const { fleet, screen, request, database, places, pipeline } = this.running;
    const { patienceMs } = request;
    const away = await database.rows('SELECT 1').then(
      () => [],
      (error: unknown) => [`the database does not answer: ${messageOf(error)}`],
    );
    const stillMs = this.standstill.observe(away[0] ? {} : fleet.done, performance.now());
    if (stillMs < Math.min(ASK_AFTER_MS, patienceMs) && away.length === 0) {
      this.reasons.clear();
      return undefined;
    }
    const { pausedQueues } = await import('../status/status.js');
    const pausedNow = await pausedQueues(places.redisUrl, pipeline.id).catch(() => []);
    for (const queue of pausedNow)
      screen.noteOnce(`Waiting: ${queue} is paused; \`millrace queues resume ${queue}\` lets it go on`);
    const heard = [...away, ...(await fullDisks(this.running)), ...(await fleet.notReadyReasons())];
    for (const reason of heard) screen.noteOnce(`Waiting: ${reason}`);
    // Whoever paused a queue will resume it: that is waited for, with all that cannot pass until then.
    if (pausedNow.length > 0) return void this.standstill.restart(performance.now());
    for (const reason of heard) this.reasons.add(reason);
    // The first is nearest to the cause; apps may be ready again and again in between.
    const [first] = this.reasons;
    return stillMs >= patienceMs ? first : undefined;
  }
}

/** What to say about each of the folders that the run writes to whose disk has no room left. */
async function fullDisks({ data, request }: Running): Promise<string[]> {
  const folders = { data: data.path, ...(!request.dryRun && { output: request.out }) };
  const found = await Promise.all(
    Object.entries(folders).map(async ([what, path]) => {
      const room = await statfs(path).catch(() => undefined);
      return room && room.bavail * room.bsize < ENOUGH_BYTES
        ? [`no space left on the disk of the ${what} folder ${path}; free some, or choose another`]
        : [];
    }),
  );
  return found.flat();
}
