import { lstatSync, statSync } from 'node:fs';
import ignoreFactory, { type Ignore } from 'ignore';
import { entryPath, identityText, OpenFile, parentOf, patiently, pathText, type FsPath } from '#files';

// CommonJS default export seen through ESM types.
const ignore = ignoreFactory as unknown as (options: object) => Ignore;

const MAX_RULE_FILE_BYTES = 1024 * 1024;
const MAX_CACHED = 20_000;
// Each wildcard multiplies the ways to match by the depth of a path, or the length of a name: with more, a hostile
// pattern takes seconds for a file, and each one more takes ten times as long.
const MAX_DEEP = 3;
const MAX_STARS = 5;

/** A line of an ignore file that is not followed: matching it could take for ever. */
export interface RefusedLine {
  file: string;
  line: number;
  pattern: string;
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
    return this.cache.get(keyOf(path)) ?? this.enter(path, identityOf(path));
  }

  /** The link of a folder of which the identity is known, and perhaps which rule files it holds. */
  enter(path: FsPath, identity: string, ruleFiles = this.ruleFiles): ChainLink {
    const key = keyOf(path);
    const parent = key === this.rootKey ? undefined : this.at(parentOf(path));
    const text = ruleFiles.map((name) => this.followed(entryPath(path, name))).join('\n');
    const own = text.trim() !== '';
    const link = {
      ...{ identity, parent, ruled: own || parent?.ruled === true, depth: parent ? parent.depth + 1 : 0 },
      rules: own ? ignore({ ignorecase: false, allowRelativePaths: true }).add(text) : undefined,
    };
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

/** The text without the lines that are refused; every line keeps its number. */
export function followedRules(text: string): { text: string; refused: Omit<RefusedLine, 'file'>[] } {
  const refused: Omit<RefusedLine, 'file'>[] = [];
  const lines = text.split('\n').map((pattern, index) => {
    if (!isCostly(pattern)) return pattern;
    refused.push({ line: index + 1, pattern: pattern.trim() });
    return '';
  });
  return { text: lines.join('\n'), refused };
}

function isCostly(pattern: string): boolean {
  if (pattern.startsWith('#')) return false;
  const segments = pattern.trim().split('/');
  const deep = segments.filter((segment) => /^\*{2,}$/.test(segment)).length;
  const stars = Math.max(...segments.map((segment) => segment.match(/\*+/g)?.length ?? 0));
  return deep > MAX_DEEP || stars > MAX_STARS;
}
