import { sleep } from '#service';
import type { ChildApp, Ending } from '../fleet/child-app.js';

const ASK_AGAIN_MS = 1_000;

/** Who scans: a process of its own, or the worker. */
export interface Scanner {
  process: Pick<ChildApp, 'onRestart' | 'last'>;
  /** One scan; how it failed, if it did. */
  scan: (stop: AbortSignal) => Promise<Ending | undefined>;
}

/** What a person at the terminal is told about a scan that does not simply run. */
interface ScanTalk {
  onWaiting: () => void;
  onRestart: (ending: Ending) => void;
}

/**
 * Scans until a scan of our own has seen the whole tree as it is now; one that dies is started again, like any service.
 * Returns how it failed, if it did.
 * - One that ended without a summary did not scan: another holds the lease, or one that was killed held it a moment ago.
 * - One that went on from an interrupted scan knows nothing of what changed behind it.
 */
export async function scanAfresh(
  { process, scan }: Scanner,
  stop: AbortSignal,
  { onWaiting, onRestart }: ScanTalk,
): Promise<Ending | undefined> {
  process.onRestart = onRestart;
  for (;;) {
    const { summary: before } = process.last;
    const failed = await scan(stop);
    if (failed || stop.aborted) return failed;
    const { summary } = process.last;
    if (summary && summary !== before && !summary.resumed) break;
    if (summary && summary !== before) continue;
    onWaiting();
    await sleep(ASK_AGAIN_MS, stop);
  }
  process.onRestart = () => {};
  return undefined;
}
