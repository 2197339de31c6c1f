import { Injectable, Module } from '@nestjs/common';
import { lstat } from 'node:fs/promises';
import { Database, queryRows } from '#database';
import { fsPath, type PathText } from '#files';
import type { Service } from '#service';
import { TreeElsewhereError } from './batcher.errors.js';

interface Root {
  id: number;
  path: string;
}

/** Enough that a few that were deleted since the scan do not matter. */
const ENTRIES = 50;

/**
 * Keeps a batcher from starting on a node that does not see the tree that was scanned: the mount is missing there, or another
 * tree lies at its path. Such a node would find every file vanished or its folder away. A root is known by what lies directly in
 * it, not by device or inode, which differ between nodes. One root that is here is enough: many may feed a pipeline.
 */
@Injectable()
export class TreeCheck implements Service {
  readonly name = 'tree';

  constructor(private readonly database: Database) {}

  async start(): Promise<void> {
    const missing: string[] = [];
    for (const root of await this.roots()) {
      const entries = await this.entriesOf(root);
      if (entries.length === 0 || (await anyThere(entries))) return;
      missing.push(root.path);
    }
    if (missing.length > 0) throw new TreeElsewhereError(missing);
  }

  async stop(): Promise<void> {}

  /** By the row of their top folder. */
  private roots(): Promise<Root[]> {
    return this.database.read((manager) =>
      queryRows<Root>(
        manager,
        `SELECT d.id, r.path FROM roots r JOIN folders d ON d.path_key = r.path_key WHERE d.removed = 0`,
      ),
    );
  }

  /** Some files and folders that lie directly in the root. */
  private entriesOf({ id }: Root): Promise<PathText[]> {
    return this.database.read(async (manager) => {
      const within = (table: string, parent: string): Promise<PathText[]> =>
        queryRows(
          manager,
          `SELECT path AS text, path_bytes AS bytes FROM ${table} WHERE ${parent} = $1 AND removed = 0 LIMIT ${ENTRIES}`,
          [id],
        );
      return [...(await within('folders', 'parent_id')), ...(await within('files', 'folder_id'))];
    });
  }
}

/** Only in a deployed batcher: a laptop's run looks at its directory itself. */
@Module({ providers: [TreeCheck] })
export class TreeCheckModule {}

async function anyThere(entries: readonly PathText[]): Promise<boolean> {
  for (const entry of entries) if (await lstat(fsPath(entry)).catch(() => undefined)) return true;
  return false;
}
