// Test-only: a reading thread that does what the name of the file says.
import type { ReadOutcome, ReadTask } from './read-outcome.js';

export default function read({ files }: ReadTask): ReadOutcome[] {
  return files.map((file) => {
    const path = file.path.text;
    if (path.includes('poison')) process.exit(3);
    if (path.includes('throws')) throw new Error(`thrown for ${path}`);
    if (path.includes('hangs')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return { kind: 'hashed', hash: `${path} of ${files.length}` };
  });
}
