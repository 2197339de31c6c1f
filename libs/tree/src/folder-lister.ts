import { createHash, hash, type Hash } from 'node:crypto';
import { lstatSync, type BigIntStats } from 'node:fs';
import {
  entryPath,
  fault,
  faultCode,
  fileStat,
  fsPath,
  identityText,
  isInside,
  isOnAnotherDevice,
  isRecordable,
  meaningOf,
  parentOf,
  patiently,
  pathText,
  useFolder,
  type FsPath,
} from '#files';
import { eachChunk, entriesOf, type Entry } from './directory.js';
import { EntryFilter } from './entry-filter.js';
import { fileEntry, subfolderEntry } from './file-entry.js';
import {
  addCounts,
  addReasons,
  emptyChunk,
  type FileEntry,
  type FolderListing,
  type FolderRef,
  type LeaveOutReason,
  type ListingChunk,
  type ListingRules,
  type SubfolderEntry,
} from './listing.js';
import {
  identityOf,
  isOwnAncestor,
  keyOf,
  RuleChain,
  type ChainLink,
  type RefusedLine,
} from './rule-chain.js';
import { notFollowed, resolveLink, specialReason, type LinkOutcome } from './symlink-policy.js';

interface ListerLimits {
  /** Entries of one folder that are held at once; a folder with more is streamed in chunks of this size. */
  chunk: number;
  /** Throws when the caller gave up. */
  checkpoint: () => void;
}

/** A folder that is open. */
interface Folder {
  ref: FolderRef;
  path: FsPath;
  /** Leads to it as long as it is open, whatever is put in its place. */
  pinned: FsPath;
  stat: BigIntStats;
  identity: string;
  segments: string[];
  /** Names in it of our own data and output, a character a byte. */
  ownNames: ReadonlySet<string>;
}

/** Not an error number of the system: an empty folder stands where another device was mounted. */
export const MOUNT_GONE = 'MOUNT_GONE';
const LOOP = 'ELOOP';
const UNKNOWN = { size: 0, mtimeNs: '0', ctimeNs: '0', inode: '' };
// Of what is kept, not of the rules that kept it: other rules that keep the same leave the listing what it was.
const DIGEST = 'sha1';
// Size of a directory whose entries may be read at once; most file systems count bytes in it, the others entries.
const SMALL_FOLDER = 65_536n;

/**
 * Lists folders: names as bytes, one lstat a file, nothing ever opened but folders and their ignore files.
 * Synchronous, for threads: a system call costs a fifth of its asynchronous twin. Every entry ends as a file, a
 * subfolder, or a count with its reason.
 */
export class FolderLister {
  private readonly root: Buffer;
  private readonly chain: RuleChain;
  private readonly filter: EntryFilter;
  private readonly ruleFiles: readonly string[];
  private readonly excluded: ReadonlySet<string>;

  constructor(
    private readonly rules: ListingRules,
    private readonly limits: ListerLimits,
  ) {
    this.root = Buffer.from(rules.root, 'base64');
    this.ruleFiles = rules.gitignore ? ['.gitignore', '.millraceignore'] : ['.millraceignore'];
    this.chain = new RuleChain(fsPath(pathText(this.root)), this.ruleFiles, rules.followSymlinks);
    this.filter = new EntryFilter(rules);
    this.excluded = new Set(rules.excludedIdentities);
  }

  /** Lines of ignore files that were not followed, each told once. */
  takeRefused(): RefusedLine[] {
    return this.chain.refused.splice(0);
  }

  /** `large`: more entries than one answer may hold; ask for it as a stream. */
  list(ref: FolderRef): FolderListing | { state: 'large' } {
    return this.open<FolderListing | { state: 'large' }>(ref, (folder) => {
      if (folder.stat.size > SMALL_FOLDER) return { state: 'large' };
      const entries = entriesOf(folder.pinned);
      if (entries.length > this.limits.chunk) return { state: 'large' };
      refuseLostMount(folder, entries.length === 0);
      const ruleFiles = this.ruleFiles.filter((name) => entries.some((entry) => entry.name === name));
      const chunk = this.examine(folder, this.enter(folder, ruleFiles), entries);
      return this.verdict(folder, chunk, hash(DIGEST, digestText(chunk), 'base64url'));
    });
  }

  /** Lists a folder of any size, handing over a chunk at a time. */
  stream(ref: FolderRef, emit: (chunk: ListingChunk) => void): FolderListing {
    return this.open(ref, (folder) => {
      const unchanged = ref.digest === null ? undefined : this.passOver(folder);
      if (unchanged?.state === 'unchanged') return unchanged;
      const digest = this.eachExamined(folder, emit).digest('base64url');
      return { state: 'listed', identity: folder.identity, digest, ...emptyChunk() };
    });
  }

  /** Goes over a folder without keeping its entries, to see whether it is what it was. */
  private passOver(folder: Folder): FolderListing {
    const all = emptyChunk();
    const digest = this.eachExamined(folder, (chunk) => addCounts(all.counts, chunk.counts));
    return this.verdict(folder, all, digest.digest('base64url'));
  }

  private eachExamined(folder: Folder, use: (chunk: ListingChunk) => void): Hash {
    const digest = createHash(DIGEST);
    const link = this.enter(folder);
    let empty = true;
    eachChunk(folder.pinned, this.limits.chunk, (entries) => {
      empty = false;
      const chunk = this.examine(folder, link, entries);
      digest.update(digestText(chunk));
      use(chunk);
      this.limits.checkpoint();
    });
    refuseLostMount(folder, empty);
    return digest;
  }

  private open<L>(ref: FolderRef, list: (folder: Folder) => L): L | (FolderListing & { state: 'failed' }) {
    try {
      const named = { text: ref.path, bytes: ref.pathBytes };
      const path = fsPath(named);
      if (this.rules.followSymlinks) this.refuseReplaced(path);
      const place = { root: pathText(this.root), path: named, followLinks: this.rules.followSymlinks };
      return useFolder(place, (pinned, stat) =>
        list({
          ...{ ref, path, pinned, stat, identity: identityText(stat) },
          ...{ segments: this.segmentsOf(path), ownNames: this.ownNamesIn(keyOf(path)) },
        }),
      );
    } catch (error) {
      if (!isRecordable(error)) throw error;
      return { state: 'failed', error: faultCode(error), message: error.message };
    }
  }

  private enter({ path, identity }: Folder, ruleFiles?: readonly string[]): ChainLink {
    const link = this.chain.enter(path, identity, ruleFiles);
    if (isOwnAncestor(link)) throw fault(LOOP, 'the folder is its own ancestor: a mount or link leads back');
    return link;
  }

  /** Between the listing of its parent and now a folder may have become a link to what is reached otherwise. */
  private refuseReplaced(path: FsPath): void {
    if (!patiently(() => lstatSync(path)).isSymbolicLink()) return;
    if (this.linkOutcome(path).follow !== 'folder')
      throw fault('ENOTDIR', 'the folder was replaced by a link that is not followed');
  }

  private examine(folder: Folder, link: ChainLink, entries: readonly Entry[]): ListingChunk {
    const chunk = emptyChunk();
    const { files, subfolders, counts } = chunk;
    for (const entry of entries) {
      const found = this.examineEntry(folder, link, entry);
      if (found === undefined) continue;
      if (typeof found === 'string') addReasons(counts.leftOut, { [found]: 1 });
      else if ('key' in found) subfolders.push(found);
      else files.push(found);
    }
    counts.files = files.length;
    for (const { size, skip } of files) {
      counts.bytes += size;
      if (skip) addReasons(counts.skipped, { [skip]: 1 });
    }
    return chunk;
  }

  /** What becomes of it; undefined for what the scan does not look at. */
  private examineEntry(
    folder: Folder,
    rules: ChainLink,
    entry: Entry,
  ): FileEntry | SubfolderEntry | LeaveOutReason | undefined {
    const path = entryPath(folder.path, entry.name);
    const link = entry.isSymbolicLink() ? this.linkOutcome(path) : undefined;
    const isFolder = entry.isDirectory() || link?.follow === 'folder';
    if (!isFolder && this.rules.mode === 'folders') return undefined;
    const name = typeof path === 'string' ? entry.name : Buffer.from(entry.name, 'latin1').toString();
    const candidate = { name, folder: isFolder, segments: () => [...folder.segments, name] };
    const reason = this.filter.leaveOut(candidate, rules);
    if (reason) return reason;
    if (folder.ownNames.has(entry.name)) return 'own-data';
    if (!isFolder) return this.fileAt(path, link);
    return this.isExcluded(path) ? 'own-data' : subfolderEntry(path);
  }

  private isExcluded(path: FsPath): boolean {
    try {
      return this.excluded.size > 0 && this.excluded.has(identityOf(path));
    } catch (error) {
      // What cannot be looked at is not ours; listing it will record why.
      if (isRecordable(error)) return false;
      throw error;
    }
  }

  private fileAt(path: FsPath, link: LinkOutcome | undefined): FileEntry | LeaveOutReason {
    try {
      const stat = link?.follow === 'file' ? link.stat : patiently(() => lstatSync(path, { bigint: true }));
      if (this.excluded.size > 0 && this.excluded.has(identityText(stat))) return 'own-data';
      const ofSize = Number(stat.size) > this.rules.maxFileBytes ? 'too-large' : null;
      const ofKind = stat.isFile() ? ofSize : specialReason(stat);
      return fileEntry(path, fileStat(stat), link?.follow === 'no' ? link.reason : ofKind);
    } catch (error) {
      if (!isRecordable(error)) throw error;
      if (meaningOf(error) === 'gone') return 'vanished';
      return fileEntry(path, UNKNOWN, 'unreadable', faultCode(error));
    }
  }

  private linkOutcome(path: FsPath): LinkOutcome {
    if (!this.rules.followSymlinks) return notFollowed('symlink');
    return resolveLink(path, this.root, (target, folder) => this.reaches(target, folder));
  }

  /** Whether the scan comes to a real path inside the root by itself: nothing on the way to it is left out. */
  private reaches(target: Buffer, isFolder: boolean): boolean {
    if (target.equals(this.root)) return true;
    if (!isInside(this.root, target)) return false;
    const parent = target.subarray(0, Math.max(target.lastIndexOf(0x2f), 1));
    if (!this.reaches(parent, true)) return false;
    const segments = this.segmentsOf(target);
    const candidate = { name: segments.at(-1) ?? '', folder: isFolder, segments: () => segments };
    return this.filter.leaveOut(candidate, this.chain.at(parent)) === undefined;
  }

  private segmentsOf(path: FsPath): string[] {
    const below = Buffer.from(path).subarray(this.root.length).toString();
    return below.split('/').filter((name) => name !== '');
  }

  private ownNamesIn(folder: string): ReadonlySet<string> {
    const own = this.rules.excludedPaths.filter((path) => parentOf(path) === folder);
    return new Set(own.map((path) => path.slice(path.lastIndexOf('/') + 1)));
  }

  private verdict({ ref, identity }: Folder, chunk: ListingChunk, digest: string): FolderListing {
    return digest === ref.digest && this.rules.mode !== 'folders'
      ? { state: 'unchanged', identity, digest, counts: chunk.counts }
      : { state: 'listed', identity, digest, ...chunk };
  }
}

function digestText({ files, subfolders }: ListingChunk): string {
  let text = '';
  for (const { name, size, mtimeNs, ctimeNs, inode, skip, error } of files)
    text += `f${name}\0${size},${mtimeNs},${ctimeNs},${inode},${skip},${error}\n`;
  for (const { key } of subfolders) text += `d${key}\n`;
  return text;
}

function refuseLostMount({ ref, identity }: Folder, empty: boolean): void {
  if (ref.listedScanId !== 0 && empty && isOnAnotherDevice(ref.identity, identity))
    throw fault(MOUNT_GONE, 'the folder is empty and on another device than before; is its mount away?');
}
