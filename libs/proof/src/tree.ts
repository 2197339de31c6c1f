import { lstatSync } from 'node:fs';
import type { Database } from '#database';
import { fsPath, identityText, pathKey, type PathText } from '#files';
import { FolderLister, type FileEntry, type FolderRef, type ListingRules } from '#tree';
import { compareFile } from './compare-file.js';
import { asCheck, Finding } from './checks.js';
import type { CheckResult, Exception, Found, PathDetail } from './checks.js';
import { outputChecks, outputFolder } from './output.js';
import { filesOfFolder, foldersOfRoot, knownRoots, type KnownFile, type KnownRoot } from './tree-rows.js';
import { verdictOf, type Proof } from './verify.js';

/** What a scan keeps of its rules. */
type Rules = Omit<ListingRules, 'root' | 'excludedIdentities' | 'excludedPaths'>;

const CHUNK = 900;
const AGAIN = 'run again: the next scan takes it up';
const PROMISES = {
  'tree-as-sent': 'what was delivered of each file is what lies in the tree',
  'skipped-as-told': 'what was skipped by its content has such a content',
};
const CAUSES = {
  'not-scanned': ['in the tree and not known yet', AGAIN],
  edited: ['changed since it was delivered', AGAIN],
  gone: ['known and no longer in the tree', AGAIN],
  'not-readable-now': ['cannot be read now', 'make it readable, then verify again'],
};
type Name = keyof typeof PROMISES | keyof typeof CAUSES;

/**
 * The same proof, held against the tree and the destination as they are now. `ownPaths` are our own folders and files, which
 * no scan enters: data and database; the output is known. Shows so many rows of each finding; counts are whole.
 */
export async function deepen(
  database: Database,
  proof: Proof,
  { ownPaths, rows = 20 }: { ownPaths: readonly string[]; rows?: number },
): Promise<Proof> {
  const output = await outputFolder(database);
  const tree = await new TreeComparison(database, [...ownPaths, ...(output ? [output] : [])], rows).run();
  const written = output ? await outputChecks(database, output, rows) : [];
  const checks = [...proof.checks, ...tree.checks, ...written];
  const exceptions = [...proof.exceptions, ...tree.exceptions];
  return { ...proof, checks, exceptions, verdict: verdictOf(checks, proof.inFlight, exceptions) };
}

/**
 * Walks every tree again under the rules of its last scan, without asking the tables what is there, and holds what it finds
 * against what was delivered: path by path, and byte range by byte range. Blocks on the file system: for commands and tests.
 */
class TreeComparison {
  private readonly findings: Record<string, Finding<PathDetail>> = {};

  constructor(
    private readonly database: Database,
    /** Folders and files of our own, which no scan enters. */
    private readonly ownPaths: readonly string[],
    private readonly rows: number,
  ) {}

  async run(): Promise<{ checks: CheckResult[]; exceptions: Exception[] }> {
    for (const root of await knownRoots(this.database)) await this.compareRoot(root);
    const nothing: Found<PathDetail> = { count: 0, rows: [] };
    const checks = Object.entries(PROMISES).map(([name, promise]) => {
      const { count, rows } = this.findings[name] ?? nothing;
      const problems = rows.map(({ path, detail }) => ({ path, problem: detail }));
      return asCheck({ count, rows: problems }, name, promise);
    });
    const exceptions = Object.entries(CAUSES).flatMap(([name, [cause = '', cure = '']]) => {
      const { count, rows } = this.findings[name] ?? nothing;
      return count > 0 ? [{ name, cause, cure, count, rows }] : [];
    });
    return { checks, exceptions };
  }

  private add(name: Name, path: string, detail: string | null = null): void {
    (this.findings[name] ??= new Finding(this.rows)).add({ path, detail });
  }

  private async compareRoot({ id, path, rules }: KnownRoot): Promise<void> {
    const lister = new FolderLister(
      {
        ...(JSON.parse(rules) as Rules),
        root: Buffer.from(fsPath(path)).toString('base64'),
        excludedIdentities: this.ownPaths.flatMap(identityOf),
        excludedPaths: [],
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
      this.add('not-readable-now', folder.text, end.error);
      return [];
    }
    const known = await filesOfFolder(this.database, key);
    for (const entry of entries) {
      this.compareEntry(entry, known.get(entry.name));
      known.delete(entry.name);
    }
    for (const { place } of known.values()) this.add('gone', place.path.text);
    return below;
  }

  private async missFolder(key: string, path: string): Promise<void> {
    const known = await filesOfFolder(this.database, key);
    this.add('gone', path, `a folder of ${known.size} known files`);
  }

  private compareEntry(entry: FileEntry, known: KnownFile | undefined): void {
    if (!known) return this.add('not-scanned', entry.path);
    if (entry.skip !== null) return;
    const { found, detail } = compareFile(known);
    if (found !== 'same') this.add(found, entry.path, detail);
  }
}

function refOf({ text, bytes }: PathText): FolderRef {
  return { id: 0, path: text, pathBytes: bytes, depth: 0, identity: null, listedScanId: 0, digest: null };
}

function identityOf(path: string): string[] {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? [identityText(stat)] : [];
}
