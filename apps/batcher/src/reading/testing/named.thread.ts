// Test-only: a reading thread that does what the name of the file says.
import type { FilePlace } from '#files';
import type { ReadOutcome } from '../read-outcome.js';

export default function read(files: readonly FilePlace[]): ReadOutcome[] {
  return files.map(({ path: { text } }) => {
    if (text.includes('poison')) process.exit(3);
    if (text.includes('throws')) throw new Error(`thrown for ${text}`);
    if (text.includes('hangs')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return { kind: 'away', error: `${text} of ${files.length}` };
  });
}
