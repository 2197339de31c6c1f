import { EXIT, sleep } from '#service';
import type { ChildApp } from '../fleet/child-app.js';

const ASK_AGAIN_MS = 1_000;

/**
 * Scans until a scan of our own has seen the whole tree as it is now; returns the exit code of the last.
 * - One that ended without a summary did not scan: another holds the lease, or one that was killed held it a moment ago.
 * - One that went on from an interrupted scan knows nothing of what changed behind it.
 */
export async function scanAfresh(
  producer: Pick<ChildApp, 'runOnce' | 'lastRecord'>,
  stop: AbortSignal,
  onWaiting: () => void,
): Promise<number> {
  for (;;) {
    const code = await producer.runOnce();
    if (code !== EXIT.ok || stop.aborted) return code;
    const summary = producer.lastRecord('summary') as { resumed: boolean } | undefined;
    if (summary && !summary.resumed) return code;
    if (summary) continue;
    onWaiting();
    await sleep(ASK_AGAIN_MS, stop);
  }
}
