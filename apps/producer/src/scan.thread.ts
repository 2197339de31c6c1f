// What the threads of a scan do. One set of them lists and then hashes: starting another takes as long as hashing
// thousands of small files. Questions and answers are JSON text: one string passes between threads faster than thousands of
// objects.
import type { MessagePort } from 'node:worker_threads';
import type { ThreadContext } from '#worker-pool';
import { hash, type HashTask } from './hashing/hash-file.js';
import {
  FolderLister,
  type FolderListing,
  type FolderRef,
  type ListingChunk,
  type ListingRules,
  type RefusedLine,
} from '#tree';

/** JSON of the rules of the scan, and of the folders. */
export type ListTask = { rules: string; folders: string } & (
  | { kind: 'list' }
  /** One folder. Its chunks, and the listing that ends them, come through the port; `taken[0]` counts those taken. */
  | { kind: 'stream'; port: MessagePort; taken: Int32Array }
);

/** Of the first folders that were asked for, as many as an answer may hold. */
export interface ListAnswer {
  listings: (FolderListing | { state: 'large' })[];
  refused: RefusedLine[];
}

/** A part of a large folder; more follows. */
export type ListingPart = { state: 'part' } & ListingChunk;

// One transaction takes 1,000 rows: a chunk of a folder and its neighbours.
const CHUNK = 900;
const CHUNKS_AHEAD = 2;
const POLL_MS = 50;

let lister: FolderLister | undefined;
let current: ThreadContext;

export default function perform(task: ListTask | HashTask, context: ThreadContext): string {
  return task.kind === 'hash' ? hash(task, context) : list(task, context);
}

/** The rules of the first task hold for all: a thread serves one scan. */
function list(task: ListTask, context: ThreadContext): string {
  current = context;
  const checkpoint = (): void => current.throwIfAborted();
  lister ??= new FolderLister(JSON.parse(task.rules) as ListingRules, { chunk: CHUNK, checkpoint });
  const folders = JSON.parse(task.folders) as FolderRef[];
  if (task.kind === 'list') return JSON.stringify(listAll(lister, folders));
  for (const folder of folders) stream(lister, folder, task);
  return '';
}

function listAll(folderLister: FolderLister, folders: readonly FolderRef[]): ListAnswer {
  const listings: ListAnswer['listings'] = [];
  let entries = 0;
  for (const folder of folders) {
    if (entries >= CHUNK) break;
    current.throwIfAborted();
    const listing = folderLister.list(folder);
    if (listing.state === 'listed') entries += listing.files.length + listing.subfolders.length;
    listings.push(listing);
  }
  return { listings, refused: folderLister.takeRefused() };
}

function stream(
  folderLister: FolderLister,
  folder: FolderRef,
  { port, taken }: ListTask & { kind: 'stream' },
): void {
  let sent = 0;
  const end = folderLister.stream(folder, (chunk) => {
    awaitRoom(taken, sent++);
    port.postMessage(JSON.stringify({ state: 'part', ...chunk } satisfies ListingPart));
  });
  port.postMessage(JSON.stringify(end));
}

/** Bounds what is in memory: a thread is never more than a few chunks ahead of the writer. */
function awaitRoom(taken: Int32Array, sent: number): void {
  for (let seen = Atomics.load(taken, 0); sent - seen >= CHUNKS_AHEAD; seen = Atomics.load(taken, 0)) {
    current.throwIfAborted();
    Atomics.wait(taken, 0, seen, POLL_MS);
  }
}
