import { lstatSync, statSync } from 'node:fs';
import ignoreFactory, { type Ignore } from 'ignore';
import { entryPath, identityText, OpenFile, parentOf, patiently, pathText, type FsPath } from '#files';
import { followedRules, type RefusedRule } from './ignore-rules.js';

// CommonJS default export seen through ESM types.
const ignore = ignoreFactory as unknown as (options: object) => Ignore;

const MAX_RULE_FILE_BYTES = 1024 * 1024;
const MAX_CACHED = 20_000;

export interface RefusedLine extends RefusedRule {
  file: string;
}

/** One folder on the way from the root, with the ignore rules that stand in it. */
export interface ChainLink {
  /** `device:inode`. */
  identity: string;
  parent: ChainLink | undefined;
  rules: Ignore | undefined;
  /** Whether there are rules here or above. */
  ruled: boolean;
  /** Segments from the root down to this folder. */
  depth: number;
}

/**
 * The ignore files that apply in a folder: its own and those of every folder above it, up to the root. Deeper files
 * win, `!pattern` brings back, as in git. Links are cached; the cache is bounded.
 */
export class RuleChain {
  private readonly cache = new Map<string, ChainLink>();
  private readonly rootKey: string;
  /** Lines that are not followed, until somebody takes them. */
  readonly refused: RefusedLine[] = [];

  constructor(
    private readonly root: FsPath,
    private readonly ruleFiles: readonly string[],
    private readonly followLinks: boolean,
  ) {
    this.rootKey = keyOf(root);
  }

  /** The link of a folder at or below the root. Throws what the file system throws. */
  at(path: FsPath): ChainLink {
    const key = keyOf(path);
    const cached = this.cache.get(key);
    if (cached) return cached;
    const parent = key === this.rootKey ? undefined : this.at(parentOf(path));
    const link = this.load(path, parent, parent ? parent.depth + 1 : 0);
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    this.cache.set(key, link);
    return link;
  }

  private followed(file: FsPath): string {
    const { text, refused } = followedRules(this.read(file));
    for (const rule of refused) this.refused.push({ file: pathText(file).text, ...rule });
    return text;
  }

  /** Only a regular file holds rules, and only one of the tree: what it says decides what is carried. */
  private read(file: FsPath): string {
    if (!lstatSync(file, { throwIfNoEntry: false })?.isFile()) return '';
    const place = { root: pathText(this.root), path: pathText(file), followLinks: this.followLinks };
    return OpenFile.use(place, (open) => {
      if (open.size > MAX_RULE_FILE_BYTES) return '';
      return Buffer.concat([...open.range(0, open.size)].map((chunk) => Buffer.from(chunk))).toString();
    });
  }

  private load(path: FsPath, parent: ChainLink | undefined, depth: number): ChainLink {
    const text = this.ruleFiles.map((name) => this.followed(entryPath(path, name))).join('\n');
    const own = text.trim() === '' ? undefined : text;
    return {
      identity: identityOf(path),
      parent,
      rules: own === undefined ? undefined : ignore({ ignorecase: false, allowRelativePaths: true }).add(own),
      ruled: own !== undefined || parent?.ruled === true,
      depth,
    };
  }
}

/** Whether the rules leave out the entry at `segments` (names from the root down; folders end in '/'). */
export function isIgnored(link: ChainLink, segments: readonly string[]): boolean {
  for (let at: ChainLink | undefined = link; at?.ruled; at = at.parent) {
    if (!at.rules) continue;
    const { ignored, unignored } = at.rules.test(segments.slice(at.depth).join('/'));
    if (ignored) return true;
    if (unignored) return false;
  }
  return false;
}

/** Whether a folder of this identity is already above: a mount or link that leads back into itself. */
export function isOwnAncestor(link: ChainLink): boolean {
  for (let at = link.parent; at; at = at.parent) if (at.identity === link.identity) return true;
  return false;
}

/** `device:inode` of what the path leads to. */
export function identityOf(path: FsPath): string {
  return identityText(patiently(() => statSync(path, { bigint: true })));
}

/** A path as text, a character a byte. */
export function keyOf(path: FsPath): string {
  return typeof path === 'string' ? path : path.toString('latin1');
}
