import { join } from 'node:path';
import { eventually } from '#testing';
import type { RecordingAnalyser } from '../../e2e/recording-analyser.js';
import type { StormSystem } from './system.js';
import { NEIGHBOUR } from './tree.js';

/**
 * What the analyser saw, against what lies on the disk, without asking the system's own tables:
 * - a key always carried the same contents, to the letter;
 * - no content was sent in two batches;
 * - every file on the disk was sent as it is now.
 * And against the tables, which the last scan made complete:
 * - the files that they know are those on the disk;
 * - no batch was announced as completed more than once.
 */
export async function violations(system: StormSystem): Promise<string[]> {
  return [
    ...sameKeySameContent(system.analyser),
    ...(await oneBatchAContent(system)),
    ...(await allOnDiskSent(system)),
    ...(await knownIsOnDisk(system)),
    ...(await completedOnce(system)),
    ...(await apart(system)),
  ];
}

function sameKeySameContent({ requests }: RecordingAnalyser): string[] {
  const first = new Map<string, string>();
  return requests.flatMap(({ key, files }) => {
    const content = JSON.stringify(files);
    const before = first.get(key) ?? content;
    first.set(key, before);
    return before === content ? [] : [`key ${key} carried different contents`];
  });
}

/**
 * A batch may come again under another key, without what changed meanwhile. A content may come in another batch only if the
 * tables say that its file was not as it had been counted, or not to be read, before the delivery of the first was recorded.
 */
async function oneBatchAContent({ analyser: { requests }, tree, books }: StormSystem): Promise<string[]> {
  const stale = await books.staleIn();
  const batches = new Map<string, Set<string>>();
  for (const { batchId, files } of requests)
    for (const { path, part, content } of files) {
      const name = `${path}#${part}:${content}`;
      const under = batches.get(name) ?? new Set();
      batches.set(name, stale.has(`${batchId}:${join(tree.root, path)}`) ? under : under.add(batchId));
    }
  return [...batches].flatMap(([name, under]) =>
    under.size > 1
      ? [`${name.slice(0, 80)} was sent in ${under.size} batches: ${[...under].join(', ')}`]
      : [],
  );
}

const DRAIN_MS = 180_000;

/** Nothing of one pipeline ever reaches the destination of another, and each is proven for itself. */
async function apart({ analyser, neighbour }: StormSystem): Promise<string[]> {
  if (!neighbour) return [];
  const strayed = [
    ...contentsOf(analyser).filter((content) => content.includes(NEIGHBOUR)),
    ...contentsOf(neighbour.analyser).filter((content) => !content.includes(NEIGHBOUR)),
  ];
  const { books } = neighbour;
  await eventually(async () => (await books.proof()).verdict !== 'in flight', { timeoutMs: DRAIN_MS });
  const { verdict, checks, exceptions } = await books.deepProof();
  return [
    ...strayed.map((content) => `went to the other pipeline's destination: ${content.slice(0, 80)}`),
    ...(verdict === 'proven'
      ? []
      : [`the neighbour is ${verdict}: ${JSON.stringify({ checks, exceptions })}`]),
    ...(await allOnDiskSent(neighbour)),
  ];
}

function contentsOf({ requests }: RecordingAnalyser): string[] {
  return requests.flatMap(({ files }) => files.map(({ content }) => content));
}

async function allOnDiskSent(system: Pick<StormSystem, 'analyser' | 'tree'>): Promise<string[]> {
  const sent = new Set<string>();
  const parts = new Map<string, string[]>();
  for (const { files } of system.analyser.requests)
    for (const { path, part, parts: of, content } of files) {
      if (of === 1) sent.add(`${path}:${content}`);
      else {
        // Parts of one content carry its serial number in every line.
        const serial = /serial (\d+)/.exec(content)?.[1] ?? '';
        const list = parts.get(`${path}:${serial}`) ?? [];
        list[part - 1] = content;
        parts.set(`${path}:${serial}`, list);
      }
    }
  for (const [name, list] of parts) sent.add(`${name.slice(0, name.lastIndexOf(':'))}:${list.join('')}`);
  const missing = [...(await system.tree.contents())].filter(
    ([path, content]) => !sent.has(`${path}:${content}`),
  );
  return missing.map(([path]) => `${path} was never sent as it is now`);
}

async function knownIsOnDisk(system: StormSystem): Promise<string[]> {
  const onDisk = new Set(
    [...(await system.tree.contents()).keys()].map((path) => join(system.tree.root, path)),
  );
  const known = new Set(await system.books.livePaths());
  return [
    ...[...onDisk].filter((path) => !known.has(path)).map((path) => `${path} is on the disk and not known`),
    ...[...known].filter((path) => !onDisk.has(path)).map((path) => `${path} is known and not on the disk`),
  ];
}

async function completedOnce(system: StormSystem): Promise<string[]> {
  return [...(await system.books.completions())].flatMap(([batch, times]) =>
    times > 1 ? [`batch ${batch} was announced as completed ${times} times`] : [],
  );
}
