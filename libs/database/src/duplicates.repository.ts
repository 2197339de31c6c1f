import type { Database } from './database.service.js';
import { hashIsOneOf } from './conditions.js';

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

export interface DuplicatesTotals {
  groups: number;
  waste: number;
  /** Files that are there, and those of them whose hash is known. */
  files: number;
  hashed: number;
}

type GroupRow = Omit<DuplicateGroup, 'paths'>;

const keyOf = ({ algorithm, hash }: Pick<GroupRow, 'algorithm' | 'hash'>): string => `${algorithm} ${hash}`;

/** SQL for the groups of files of at least the size that is parameter `minSize`. */
const groupsSql = (minSize: string): string => `SELECT hash_value AS hash, hash_algorithm AS algorithm, size,
    count(*) AS copies, (count(DISTINCT inode) - 1) * size AS waste
  FROM files WHERE hash_value IS NOT NULL AND removed = 0 AND size >= ${minSize}
  GROUP BY hash_value, hash_algorithm, size HAVING count(DISTINCT inode) > 1`;

/** What is stored more than once, by the hashes that scans and batchers recorded. Files without a hash are not in it. */
export class Duplicates {
  constructor(private readonly database: Database) {}

  /** The largest waste first, `limit` groups at most, of files of `minSize` bytes and more: not of empty ones unless told. */
  async groups({ limit = 100, minSize = 1 } = {}): Promise<DuplicateGroup[]> {
    const sql = `${groupsSql('$2')} ORDER BY 5 DESC, hash_value LIMIT $1`;
    const groups = await this.database.rows<GroupRow>(sql, [limit, minSize]);
    const paths = await this.pathsOf(groups);
    return groups.map((group) => ({ ...group, paths: paths.get(keyOf(group)) ?? [] }));
  }

  /** Of all groups, whatever a page of them shows. */
  async totals({ minSize = 1 } = {}): Promise<DuplicatesTotals> {
    const [totals] = await this.database.rows<DuplicatesTotals>(
      `SELECT count(*) AS groups, coalesce(sum(waste), 0) AS waste,
           (SELECT count(*) FROM files WHERE removed = 0) AS files,
           (SELECT count(*) FROM files WHERE removed = 0 AND hash_value IS NOT NULL) AS hashed
         FROM (${groupsSql('$1')}) AS g`,
      [minSize],
    );
    return totals as DuplicatesTotals;
  }

  private async pathsOf(groups: readonly GroupRow[]): Promise<Map<string, string[]>> {
    const paths = new Map(groups.map((group): [string, string[]] => [keyOf(group), []]));
    if (groups.length === 0) return paths;
    const wanted = groups.map((_, index) => `$${index + 1}`);
    const rows = await this.database.rows<{ hash: string; algorithm: string; path: string }>(
      `SELECT hash_value AS hash, hash_algorithm AS algorithm, path FROM files
       WHERE ${hashIsOneOf('hash_value', wanted)} AND removed = 0 ORDER BY path`,
      groups.map(({ hash }) => hash),
    );
    for (const row of rows) paths.get(keyOf(row))?.push(row.path);
    return paths;
  }
}
