// Lists folders on a thread. Answers are JSON text: one string passes between threads faster than thousands of objects.
import type { MessagePort } from 'node:worker_threads';
import type { ThreadContext } from '#worker-pool';
import { FolderLister, type FolderRef, type ListingRules, type StreamEnd } from '#tree';

export type ListTask =
  | { kind: 'list'; rules: ListingRules; folders: readonly FolderRef[] }
  /** `acknowledged[0]` counts the chunks that the reader has taken. */
  | { kind: 'stream'; rules: ListingRules; folder: FolderRef; port: MessagePort; acknowledged: Int32Array };

/** The answer may overtake the chunks: the reader waits until it has seen as many. */
export interface StreamAnswer {
  end: StreamEnd;
  chunks: number;
}

// One transaction takes 1,000 rows: a chunk of a folder and its neighbours.
const CHUNK = 900;
const CHUNKS_AHEAD = 2;
const POLL_MS = 50;

let lister: FolderLister | undefined;
let current: ThreadContext;

/** The rules of the first task hold for all: a thread serves one scan. */
export function list(task: ListTask, context: ThreadContext): string {
  current = context;
  const checkpoint = (): void => current.throwIfAborted();
  lister ??= new FolderLister(task.rules, { chunk: CHUNK, checkpoint });
  if (task.kind === 'stream') return JSON.stringify(stream(lister, task));
  const folderLister = lister;
  return JSON.stringify(
    task.folders.map((folder) => {
      context.throwIfAborted();
      return folderLister.list(folder);
    }),
  );
}

function stream(
  folderLister: FolderLister,
  { folder, port, acknowledged }: ListTask & { kind: 'stream' },
): StreamAnswer {
  let chunks = 0;
  const end = folderLister.stream(folder, (chunk) => {
    awaitRoom(acknowledged, chunks);
    port.postMessage(JSON.stringify(chunk));
    chunks++;
  });
  return { end, chunks };
}

/** Bounds what is in memory: a thread is never more than a few chunks ahead of the writer. */
function awaitRoom(acknowledged: Int32Array, sent: number): void {
  for (;;) {
    const taken = Atomics.load(acknowledged, 0);
    if (sent - taken < CHUNKS_AHEAD) return;
    current.throwIfAborted();
    Atomics.wait(acknowledged, 0, taken, POLL_MS);
  }
}
