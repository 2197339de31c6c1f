import { liveChildren } from './child.js';
import { eventually } from './eventually.js';
import { jestGlobals } from './jest-globals.js';

const WATCHED = ['TCPSocketWrap', 'PipeWrap', 'TCPServerWrap', 'Worker', 'MessagePort'];

/**
 * Fails each test of the file that leaves a socket, server, thread or child process open which was not open before
 * it. Call it once at the top of a describe block.
 */
export function guardLeaks(): void {
  const { afterEach, beforeEach, expect } = jestGlobals();
  let before = new Map<string, number>();
  let childrenBefore = 0;
  beforeEach(() => {
    before = openResources();
    childrenBefore = liveChildren().length;
  });
  afterEach(async () => {
    await eventually(() => {
      expect(leaked(before, openResources())).toEqual([]);
      expect(liveChildren().length).toBeLessThanOrEqual(childrenBefore);
    });
  });
}

function openResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo())
    if (WATCHED.includes(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function leaked(before: Map<string, number>, after: Map<string, number>): string[] {
  return [...after].flatMap(([name, count]) => {
    const more = count - (before.get(name) ?? 0);
    return more > 0 ? [`${more} × ${name}`] : [];
  });
}
