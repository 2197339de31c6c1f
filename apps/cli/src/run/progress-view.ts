import type { Database } from '#database';
import { sleep } from '#service';
import { readCounts, type FleetCounts } from '#proof';
import { CLI_EXIT } from '../cli.errors.js';
import type { Ending } from '../fleet/child-app.js';
import type { Fleet } from '../fleet/fleet.js';
import type { Screen } from '../output/screen.js';
import { fullDisks } from './full-disk.js';
import { progressLine, progressLines, settled } from './progress.js';
import { Standstill } from './standstill.js';

export interface ProgressViewOptions {
  database: Database;
  fleet: Fleet;
  screen: Screen;
  /** As it was when the run began. */
  before: FleetCounts;
  scanning: () => boolean;
  /** Where the run writes, by what it writes there. */
  folders: Record<string, string>;
  /** How long something may keep the run from moving before it ends. */
  patienceMs: number;
}

const POLL_MS = 200;
const ASK_AFTER_MS = 10_000;

/** Draws how far a run is. When nothing moves, it tells what the apps complain of. */
export class ProgressView {
  private readonly ended = new AbortController();
  private readonly startedAt = performance.now();
  private readonly standstill = new Standstill();
  private readonly complaints = new Set<string>();

  constructor(private readonly options: ProgressViewOptions) {}

  /** Resolves only when something that an app complains of has kept the run from moving for a while. */
  async watch(stop: AbortSignal): Promise<Ending> {
    const until = AbortSignal.any([this.ended.signal, stop]);
    while (!until.aborted) {
      const asked = performance.now();
      const counts = await readCounts(this.options.database).catch((error: Error) => error);
      // Counting reads all of `files`: asked less often the longer it takes.
      const pauseMs = Math.max(POLL_MS, 20 * (performance.now() - asked));
      if (until.aborted) break;
      if (!(counts instanceof Error)) this.draw(counts);
      const reason = await this.obstacle(counts);
      if (reason)
        return {
          code: CLI_EXIT.failed,
          reason: `${reason}. Nothing is lost: mend it and run the same command again`,
        };
      await sleep(pauseMs, until);
    }
    return new Promise(() => {});
  }

  end(): void {
    this.ended.abort();
  }

  private draw(counts: FleetCounts): void {
    const { screen, before, scanning } = this.options;
    const elapsedMs = performance.now() - this.startedAt;
    const progress = { elapsedMs, scanning: scanning(), counts, before: settled(before) };
    screen.draw(progressLines(progress), progressLine(progress));
  }

  /** What has kept the run from moving for so long that it will not pass; each complaint is shown when first heard. */
  private async obstacle(counts: FleetCounts | Error): Promise<string | undefined> {
    const { fleet, folders, screen, patienceMs } = this.options;
    const away = counts instanceof Error ? [`the database does not answer: ${counts.message}`] : [];
    const stillMs = this.standstill.observe(away[0] ? {} : counts, performance.now());
    if (stillMs < Math.min(ASK_AFTER_MS, patienceMs) && away.length === 0) {
      this.complaints.clear();
      return undefined;
    }
    const heard = [...away, ...(await fullDisks(folders)), ...(await fleet.complaints())];
    for (const complaint of heard) screen.noteOnce(`Waiting: ${complaint}`);
    for (const complaint of heard) this.complaints.add(complaint);
    // The first is nearest to the cause; apps may be ready again and again in between.
    const [first] = this.complaints;
    return stillMs >= patienceMs ? first : undefined;
  }
}
