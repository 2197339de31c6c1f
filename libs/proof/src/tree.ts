import { lstatSync } from 'node:fs';
import { queryRows, type Database } from '#database';
import { fsPath, identityText, pathKey, type PathText } from '#files';
import { FolderLister, type FileEntry, type FolderRef, type ListingRules } from '#tree';
import { compareFile, type Comparison } from './compare-file.js';
import { asCheck, asException, Finding } from './finding.js';
import { filesOfFolder, foldersOfRoot, type KnownFile } from './tree-rows.js';
import type { CheckResult, Exception } from './verify.js';

interface Root {
  id: number;
  path: PathText;
  rules: Omit<ListingRules, 'root' | 'excludedIdentities'>;
}

type Row = Exception['rows'][number];

const CHUNK = 900;
const AGAIN = 'run again: the next scan takes it up';

/**
 * Walks every tree again under the rules of its last scan, without asking the tables what is there, and holds what it finds
 * against what was delivered: path by path, and byte range by byte range. Blocks on the file system: for commands and tests.
 */
export class TreeComparison {
  private readonly unknown: Finding<Row>;
  private readonly gone: Finding<Row>;
  private readonly edited: Finding<Row>;
  private readonly unreadable: Finding<Row>;
  private readonly sentWrong: Finding<Record<string, unknown>>;
  private readonly skippedWrong: Finding<Record<string, unknown>>;

  constructor(
    private readonly database: Database,
    /** Folders and files of our own, which no scan enters. */
    private readonly ownPaths: readonly string[],
    rows: number,
  ) {
    [this.unknown, this.gone, this.edited, this.unreadable] = Array.from(
      { length: 4 },
      () => new Finding<Row>(rows),
    ) as [Finding<Row>, Finding<Row>, Finding<Row>, Finding<Row>];
    this.sentWrong = new Finding(rows);
    this.skippedWrong = new Finding(rows);
  }

  async run(): Promise<{ checks: CheckResult[]; exceptions: Exception[] }> {
    for (const root of await this.roots()) await this.compareRoot(root);
    return {
      checks: [
        asCheck(this.sentWrong, 'tree-as-sent', 'what was delivered of each file is what lies in the tree'),
        asCheck(this.skippedWrong, 'skipped-as-told', 'what was skipped by its content has such a content'),
      ],
      exceptions: [
        asException(this.unknown, 'not-scanned', 'in the tree and not known yet', AGAIN),
        asException(this.edited, 'edited', 'changed since it was delivered', AGAIN),
        asException(this.gone, 'gone', 'known and no longer in the tree', AGAIN),
        asException(
          this.unreadable,
          'not-readable-now',
          'cannot be read now',
          'make it readable, then verify again',
        ),
      ].filter(({ count }) => count > 0),
    };
  }

  private async roots(): Promise<Root[]> {
    const rows = await this.database.read((manager) =>
      queryRows<{ id: number; path: string; path_bytes: string | null; rules: string }>(
        manager,
        'SELECT id, path, path_bytes, rules FROM roots ORDER BY id',
      ),
    );
    return rows.map(({ id, path, path_bytes, rules }) => ({
      id,
      path: { text: path, bytes: path_bytes },
      rules: JSON.parse(rules) as Root['rules'],
    }));
  }

  private async compareRoot({ id, path, rules }: Root): Promise<void> {
    const lister = new FolderLister(
      {
        ...rules,
        root: Buffer.from(fsPath(path)).toString('base64'),
        excludedIdentities: this.ownPaths.flatMap(identityOf),
      },
      { chunk: CHUNK, checkpoint: () => {} },
    );
    const visited = new Set<string>();
    const frontier: PathText[] = [path];
    for (let folder = frontier.pop(); folder; folder = frontier.pop()) {
      const key = pathKey(fsPath(folder));
      visited.add(key);
      frontier.push(...(await this.compareFolder(lister, folder, key)));
    }
    for await (const { path: text, pathKey: key } of foldersOfRoot(this.database, id))
      if (!visited.has(key)) await this.missFolder(key, text);
  }

  /** Compares one folder and returns those below it. */
  private async compareFolder(lister: FolderLister, folder: PathText, key: string): Promise<PathText[]> {
    const entries: FileEntry[] = [];
    const below: PathText[] = [];
    const end = lister.stream(refOf(folder), ({ files, subfolders }) => {
      entries.push(...files);
      below.push(...subfolders.map(({ path, pathBytes }) => ({ text: path, bytes: pathBytes })));
    });
    if (end.state === 'failed') {
      this.unreadable.add({ path: folder.text, detail: end.error });
      return [];
    }
    const known = await filesOfFolder(this.database, key);
    for (const entry of entries) {
      this.compareEntry(entry, known.get(entry.name));
      known.delete(entry.name);
    }
    for (const { place } of known.values()) this.gone.add({ path: place.path.text, detail: null });
    return below;
  }

  private async missFolder(key: string, path: string): Promise<void> {
    const known = await filesOfFolder(this.database, key);
    this.gone.add({ path, detail: `a folder of ${known.size} known files` });
  }

  private compareEntry(entry: FileEntry, known: KnownFile | undefined): void {
    if (!known) return this.unknown.add({ path: entry.path, detail: null });
    if (entry.skip === null) this.record(entry.path, compareFile(known));
  }

  private record(path: string, outcome: Comparison): void {
    switch (outcome.kind) {
      case 'same':
        return;
      case 'edited':
        return this.edited.add({ path, detail: null });
      case 'gone':
        return this.gone.add({ path, detail: null });
      case 'unreadable':
        return this.unreadable.add({ path, detail: outcome.error });
      case 'sent-wrong':
        return this.sentWrong.add({ path, problem: outcome.problem });
      case 'skipped-wrong':
        return this.skippedWrong.add({ path, problem: outcome.problem });
    }
  }
}

function refOf({ text, bytes }: PathText): FolderRef {
  return { id: 0, path: text, pathBytes: bytes, depth: 0, identity: null, listedScanId: 0, digest: null };
}

function identityOf(path: string): string[] {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? [identityText(stat)] : [];
}
