import { hashOf, isBinary, isSameStat, meaningOf, OpenFile, PROBE_BYTES } from '#files';
import type { KnownFile } from './tree-rows.js';

/** What was found: nothing, or a row of the finding of that name. */
interface Comparison {
  found: 'same' | 'edited' | 'gone' | 'not-readable-now' | 'tree-as-sent' | 'skipped-as-told';
  detail: string | null;
}

/** Reads a file as it is now and holds it against what was sent of it, or why it was not sent. */
export function compareFile(known: KnownFile): Comparison {
  const wasSent = known.status === 'analyzed';
  try {
    return OpenFile.use(known.place, (file) => {
      const problem = wasSent ? sentProblem(file, known) : skipProblem(file, known);
      if (problem === undefined) return { found: 'same', detail: null };
      if (!isSameStat(file.stat, known)) return { found: 'edited', detail: null };
      // The file is as it was registered, and yet not what was sent, or not what it was skipped for.
      return { found: wasSent ? 'tree-as-sent' : 'skipped-as-told', detail: problem };
    });
  } catch (error) {
    if (meaningOf(error) === 'gone') return { found: 'gone', detail: null };
    return { found: 'not-readable-now', detail: error instanceof Error ? error.message : String(error) };
  }
}

function sentProblem(file: OpenFile, { parts, hash }: KnownFile): string | undefined {
  if (parts.length === 0) return contentProblem(file, hash);
  const covered = parts.reduce((sum, { start, end }) => sum + end - start, 0);
  if (covered !== file.size) return `${covered} of ${file.size} bytes were sent`;
  const at = parts.findIndex(({ start, end, hash: sent }) => hashOf(file, 'sha256', start, end) !== sent);
  if (at >= 0) return `other bytes than those sent as part ${at + 1} of ${parts.length}`;
  return parts.length === 1 ? undefined : contentProblem(file, hash);
}

function skipProblem(file: OpenFile, { skipReason, hash }: KnownFile): string | undefined {
  if (skipReason === 'empty' && file.size > 0) return `skipped as empty, has ${file.size} bytes`;
  if (skipReason === 'binary' && !isBinary(startOf(file))) return 'skipped as binary, is text';
  return skipReason === 'duplicate' ? contentProblem(file, hash) : undefined;
}

function contentProblem(file: OpenFile, hash: string | null): string | undefined {
  return hash === null || hashOf(file, 'sha256') === hash ? undefined : 'other bytes than those recorded';
}

function startOf(file: OpenFile): Buffer {
  return Buffer.concat([...file.range(0, PROBE_BYTES + 1)].map((chunk) => Buffer.from(chunk)));
}
