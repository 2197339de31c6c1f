import type { FilePlace } from '#files';
import type { ReadOutcome } from './read-outcome.js';

/** Text, bytes and folder of a path, and which of the trees it lies in. */
type WirePlace = [text: string, bytes: string | null, folderIdentity: string | null, tree: number];
interface WireTask {
  trees: Pick<FilePlace, 'root' | 'followLinks'>[];
  files: WirePlace[];
}

/** A text that fits a batch whole, as almost every file does: its stat, hash, tokens and cost. */
type WireText = [string, string, string, string, number, number, number];

// JSON costs a third of a structured clone of as many small objects, and arrays cost half of what objects do.

export function taskToWire(files: readonly FilePlace[]): string {
  const task: WireTask = { trees: [], files: [] };
  let last: FilePlace | undefined;
  for (const file of files) {
    const { root, followLinks, path, folderIdentity = null } = file;
    if (root !== last?.root || followLinks !== last.followLinks) task.trees.push({ root, followLinks });
    last = file;
    task.files.push([path.text, path.bytes, folderIdentity, task.trees.length - 1]);
  }
  return JSON.stringify(task);
}

export function taskFromWire(text: string): FilePlace[] {
  const { trees, files } = JSON.parse(text) as WireTask;
  return files.map(([path, bytes, folderIdentity, at]) => {
    const { root, followLinks } = trees[at] as WireTask['trees'][number];
    return { root, path: { text: path, bytes }, followLinks, folderIdentity };
  });
}

export function outcomesToWire(outcomes: readonly ReadOutcome[]): string {
  return JSON.stringify(outcomes.map((outcome) => wireText(outcome) ?? outcome));
}

export function outcomesFromWire(text: string): ReadOutcome[] {
  const outcomes = JSON.parse(text) as (WireText | ReadOutcome)[];
  return outcomes.map((outcome) => (Array.isArray(outcome) ? textOutcome(outcome) : outcome));
}

function wireText(outcome: ReadOutcome): WireText | undefined {
  if (outcome.kind !== 'text' || outcome.parts.length > 1) return undefined;
  const [part] = outcome.parts;
  const { mtimeNs, ctimeNs, inode, hash, size } = outcome.facts;
  return part && [mtimeNs, ctimeNs, inode, hash, size, outcome.tokens, part.cost];
}

function textOutcome([mtimeNs, ctimeNs, inode, hash, size, tokens, cost]: WireText): ReadOutcome {
  return {
    kind: 'text',
    facts: { size, mtimeNs, ctimeNs, inode, hash },
    tokens,
    parts: [{ start: 0, end: size, tokens, cost, hash }],
  };
}
