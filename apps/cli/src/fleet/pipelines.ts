import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { shownDestination, type Destination } from '#contracts';
import { DataDirectory } from './data-directory.js';

/** Pipelines are kept apart here, unless --data names a folder for one. */
export const DATA_ROOT = '.millrace';

/**
 * The folder of the pipeline that delivers there. One that an earlier version kept in the root itself goes on there: it
 * knew no destinations, and belongs to the first that comes.
 */
export async function dataOf(destination: Destination): Promise<DataDirectory> {
  const own = new DataDirectory(join(DATA_ROOT, nameOf(destination)));
  const early = new DataDirectory(DATA_ROOT);
  if (own.isUsed || !early.isUsed) return own;
  const card = await early.card();
  return card && card.destination.address !== destination.address ? own : early;
}

/** All that were used here, the last used first. */
export async function pipelinesHere(): Promise<DataDirectory[]> {
  const names = await readdir(DATA_ROOT).catch(() => []);
  const used = [DATA_ROOT, ...names.map((name) => join(DATA_ROOT, name))]
    .map((path) => new DataDirectory(path))
    .filter(({ isUsed }) => isUsed);
  const dated = await Promise.all(used.map(async (data) => ({ data, at: await data.usedAt() })));
  return dated.sort((a, b) => b.at - a.at).map(({ data }) => data);
}

/** Which pipeline a command speaks of, and how to choose another. */
export async function others(than: DataDirectory): Promise<string[]> {
  const here = (await pipelinesHere()).filter(({ path }) => path !== than.path);
  return Promise.all(
    here.map(async (data) => {
      const card = await data.card();
      return `--data ${relative(process.cwd(), data.path)}${card ? ` → ${shownDestination(card.destination)}` : ''}`;
    }),
  );
}

/** Folders that pipelines here write to: a batch is no source, whichever pipeline made it. */
export async function outputsHere(): Promise<string[]> {
  const cards = await Promise.all((await pipelinesHere()).map((data) => data.card()));
  return cards.flatMap((card) => (card?.destination.sink === 'write' ? [card.destination.address] : []));
}

// Readable, and apart for any two addresses. The format is no part of it: one folder takes one format.
function nameOf({ address }: Destination): string {
  const digest = createHash('sha256').update(address).digest('hex').slice(0, 8);
  const word = basename(URL.canParse(address) ? new URL(address).host : address).replace(/[^\w.-]+/g, '-');
  return `${word.slice(0, 40) || 'out'}-${digest}`;
}
