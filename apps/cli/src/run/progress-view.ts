import type { Database } from '#database';
import { sleep } from '#service';
import { readCounts, type FleetCounts } from '#proof';
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
}

const POLL_MS = 200;
const ASK_AFTER_MS = 10_000;
const GIVE_UP_AFTER_MS = 30_000;

/** Draws how far a run is. When nothing moves, it tells what the apps complain of. */
export class ProgressView {
  private readonly ended = new AbortController();
  private readonly startedAt = performance.now();
  private readonly standstill = new Standstill();
  private readonly complaints = new Set<string>();

  constructor(private readonly options: ProgressViewOptions) {}

  /** Resolves only when something that an app complains of has kept the run from moving for a while. */
  async watch(stop: AbortSignal): Promise<{ failed: string }> {
    const until = AbortSignal.any([this.ended.signal, stop]);
    while (!until.aborted) {
      const asked = performance.now();
      const counts = await readCounts(this.options.database).catch(() => undefined);
      // Counting reads all of `files`: asked less often the longer it takes.
      const pauseMs = Math.max(POLL_MS, 20 * (performance.now() - asked));
      if (counts && !until.aborted) this.draw(counts);
      const reason = counts && (await this.obstacle(counts));
      if (reason) return { failed: `${reason}. Nothing is lost: mend it and run the same command again` };
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
  private async obstacle(counts: FleetCounts): Promise<string | undefined> {
    const { fleet, folders, screen } = this.options;
    const stillMs = this.standstill.observe(counts, performance.now());
    if (stillMs < ASK_AFTER_MS) {
      this.complaints.clear();
      return undefined;
    }
    const heard = [...(await fullDisks(folders)), ...(await fleet.complaints())];
    for (const complaint of heard) screen.noteOnce(`Waiting: ${complaint}`);
    for (const complaint of heard) this.complaints.add(complaint);
    // The first is nearest to the cause; apps may be ready again and again in between.
    const [first] = this.complaints;
    return stillMs >= GIVE_UP_AFTER_MS ? first : undefined;
  }
}
