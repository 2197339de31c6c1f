// Test-only: a reading thread that does what the name of the file says.
import type { ReadOutcome } from '../read-outcome.js';
import { outcomesToWire, taskFromWire } from '../read-wire.js';

export default function read(task: string): string {
  const files = taskFromWire(task);
  const outcomes = files.map(({ path: { text } }): ReadOutcome => {
    if (text.includes('poison')) process.exit(3);
    if (text.includes('throws')) throw new Error(`thrown for ${text}`);
    if (text.includes('hangs')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return { kind: 'away', error: `${text} of ${files.length}` };
  });
  return outcomesToWire(outcomes);
}
