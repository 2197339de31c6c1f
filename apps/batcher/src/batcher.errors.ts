import { MillraceError } from '#service';

/** The system failed to read the file; it is tried again, and dead-lettered when tries are used up. */
export class FileUnreadError extends MillraceError {
  readonly code = 'FILE_UNREAD';

  constructor(
    readonly path: string,
    readonly errno: string,
    message: string,
  ) {
    super(`${path} could not be read (${message}); fix the cause of ${errno}, then requeue`);
  }
}

/** What the tables know of the roots is not at their paths on this node. */
export class TreeElsewhereError extends MillraceError {
  readonly code = 'TREE_ELSEWHERE';

  constructor(readonly roots: readonly string[]) {
    super(
      `nothing that was scanned in ${roots.join(', ')} is there on this node; mount the same tree at the same path on every node, or scan again if it was replaced`,
    );
  }
}

/** The folder of the file is not there; the file waits for it, or for the scan that sees it gone. */
export class FolderAwayError extends MillraceError {
  readonly code = 'FOLDER_AWAY';

  constructor(
    readonly path: string,
    readonly errno: string,
  ) {
    super(
      `the folder of ${path} is not there (${errno}); bring it or its mount back, or scan again if it is gone on purpose`,
    );
  }
}

/** The file was touched while its content, unchanged, waits for its delivery; what comes of that decides. */
export class ContentOnItsWayError extends MillraceError {
  readonly code = 'CONTENT_ON_ITS_WAY';

  constructor(readonly path: string) {
    super(`${path} is in a batch that is yet to be delivered, as it is now; it will be looked at again then`);
  }
}

/** The file changed each time while it was read; it is tried again later. */
export class FileChangingError extends MillraceError {
  readonly code = 'FILE_CHANGING';

  constructor(readonly path: string) {
    super(`${path} changed each time while it was read; it will be read again when it may be quieter`);
  }
}

/** Reading the file took longer than its size can explain. */
export class ReadTimeoutError extends MillraceError {
  readonly code = 'READ_TIMEOUT';

  constructor(
    readonly path: string,
    readonly limitMs: number,
    cause: unknown,
  ) {
    super(`${path} was not read within ${limitMs} ms; check the disk or mount it lies on`, { cause });
  }
}

/** The file killed the thread that read it, twice, the second time alone. */
export class PoisonFileError extends MillraceError {
  readonly code = 'POISON_FILE';

  constructor(
    readonly path: string,
    cause: unknown,
  ) {
    super(
      `${path} killed the thread that read it, twice; raise THREAD_MEMORY_MB if it ran out of memory, then requeue`,
      { cause },
    );
  }
}

/** The batcher stops; the job is delivered again elsewhere. */
export class BatcherStoppedError extends MillraceError {
  readonly code = 'BATCHER_STOPPED';

  constructor() {
    super('the batcher stopped before this was done; the job will be delivered again');
  }
}
