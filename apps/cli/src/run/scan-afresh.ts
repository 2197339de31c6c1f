import { sleep } from '#service';
import type { ChildApp, Ending } from '../fleet/child-app.js';

const ASK_AGAIN_MS = 1_000;

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
  producer: Pick<ChildApp, 'runToEnd' | 'last'>,
  stop: AbortSignal,
  { onWaiting, onRestart }: ScanTalk,
): Promise<Ending | undefined> {
  for (;;) {
    const failed = await producer.runToEnd(onRestart);
    if (failed || stop.aborted) return failed;
    const { summary } = producer.last;
    if (summary && !summary.resumed) return undefined;
    if (summary) continue;
    onWaiting();
    await sleep(ASK_AGAIN_MS, stop);
  }
}
