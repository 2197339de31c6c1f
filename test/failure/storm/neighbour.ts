import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '#testing';
import { RecordingAnalyser } from '../../e2e/recording-analyser.js';
import { StormBooks } from './books.js';
import type { StormServices } from './services.js';
import { NEIGHBOUR, StormTree } from './tree.js';

/** A second pipeline on the same Redis and the same database server: a tree, a destination and tables of its own. */
export class Neighbour {
  private constructor(
    readonly tree: StormTree,
    readonly analyser: RecordingAnalyser,
    readonly books: StormBooks,
    /** As its apps see it. */
    readonly databaseUrl: string,
  ) {}

  static async moveIn(services: StormServices, folder: string, random: Random): Promise<Neighbour> {
    const tree = new StormTree(join(folder, NEIGHBOUR), NEIGHBOUR);
    await mkdir(tree.root);
    await tree.grow(20, random);
    const of = (url: string): string =>
      services.kind === 'sqlite' ? `sqlite:${join(folder, `${NEIGHBOUR}.db`)}` : `${url}?schema=${NEIGHBOUR}`;
    const analyser = await RecordingAnalyser.start(services.network?.outside);
    const books = new StormBooks(of(services.directDatabaseUrl), services.redis.url);
    return new Neighbour(tree, analyser, books, of(services.databaseUrl));
  }

  get environment(): Record<string, string> {
    const { databaseUrl, analyser, tree } = this;
    return { DATABASE_URL: databaseUrl, ANALYZER_URL: analyser.url, PATH_BASE: tree.root };
  }
}
