import type { Database } from './database.service.js';
import { hashIsOneOf } from './conditions.js';
import { queryOne } from './query.js';

/** Files with the same content. */
export interface DuplicateGroup {
  hash: string;
  algorithm: string;
  /** Of each of them. */
  size: number;
  copies: number;
  /** Bytes that all copies but one take. Hard links to one file take no more. */
  waste: number;
  /** In order of path. */
  paths: string[];
}

interface DuplicatesOptions {
  /** Groups at most. */
  limit?: number;
  /** Groups to pass over, for the next page. */
  offset?: number;
  /** Leaves out smaller files; empty ones unless told. */
  minSize?: number;
}

export interface DuplicatesTotals {
  groups: number;
  waste: number;
  /** Files that are there, and those of them whose hash is known. */
  files: number;
  hashed: number;
}

type GroupRow = Omit<DuplicateGroup, 'paths'>;

const DEFAULT_LIMIT = 100;

/** SQL for the groups of files of at least the size that is parameter `minSize`. */
const groupsSql = (minSize: string): string => `SELECT hash_value AS hash, hash_algorithm AS algorithm, size,
    count(*) AS copies, (count(DISTINCT inode) - 1) * size AS waste
  FROM files WHERE hash_value IS NOT NULL AND removed = 0 AND size >= ${minSize}
  GROUP BY hash_value, hash_algorithm, size HAVING count(DISTINCT inode) > 1`;

/** What is stored more than once, by the hashes that scans and batchers recorded. Files without a hash are not in it. */
export class Duplicates {
  constructor(private readonly database: Database) {}

  /** The largest waste first. */
  async groups({ limit = DEFAULT_LIMIT, offset = 0, minSize = 1 }: DuplicatesOptions = {}): Promise<
    DuplicateGroup[]
  > {
    const groups = await this.database.rows<GroupRow>(
      `${groupsSql('$3')} ORDER BY 5 DESC, hash_value LIMIT $1 OFFSET $2`,
      [limit, offset, minSize],
    );
    const paths = await this.pathsOf(groups);
    return groups.map((group) => ({
      ...group,
      paths: paths.get(`${group.algorithm} ${group.hash}`) ?? [],
    }));
  }

  /** Of all groups, whatever a page of them shows. */
  totals({ minSize = 1 }: Pick<DuplicatesOptions, 'minSize'> = {}): Promise<DuplicatesTotals> {
    return this.database.read((manager) =>
      queryOne<DuplicatesTotals>(
        manager,
        `SELECT count(*) AS groups, coalesce(sum(waste), 0) AS waste,
           (SELECT count(*) FROM files WHERE removed = 0) AS files,
           (SELECT count(*) FROM files WHERE removed = 0 AND hash_value IS NOT NULL) AS hashed
         FROM (${groupsSql('$1')}) AS g`,
        [minSize],
      ),
    );
  }

  private async pathsOf(groups: readonly GroupRow[]): Promise<Map<string, string[]>> {
    const paths = new Map<string, string[]>();
    if (groups.length === 0) return paths;
    const wanted = groups.map((_, index) => `$${index + 1}`);
    const rows = await this.database.rows<{ hash: string; algorithm: string; path: string }>(
      `SELECT hash_value AS hash, hash_algorithm AS algorithm, path FROM files
       WHERE ${hashIsOneOf('hash_value', wanted)} AND removed = 0 ORDER BY path`,
      groups.map(({ hash }) => hash),
    );
    for (const { hash, algorithm, path } of rows) {
      const key = `${algorithm} ${hash}`;
      const known = paths.get(key);
      if (known) known.push(path);
      else paths.set(key, [path]);
    }
    return paths;
  }
}
