import { meaningOfCode, pathText } from '#files';
import type { Coalescer } from '#service';
import type { WorkItem } from '#worker-pool';
import type { HashableFile } from '../registration/files.repository.js';
import type { Scan } from '../scan.js';
import {
  seenText,
  type HashAnswer,
  type HashOutcome,
  type HashQuestion,
  type HashTask,
} from './hash-file.js';

export interface HashResult {
  file: HashableFile;
  outcome: HashOutcome;
}

/** Gathers the results of several items for a transaction. */
export type HashWriter = Pick<Coalescer<readonly HashResult[], void>, 'add'>;

export class FileUnreadableError extends Error {
  constructor(
    readonly path: string,
    readonly code: string,
    message: string,
  ) {
    super(`${path} could not be read: ${message}`);
  }
}

/**
 * Hashes a few files on a thread and records what came of each. Permissions, vanished and restless files are recorded
 * and passed over; an error of the device fails the item after its results are recorded.
 */
export class FileHashingWorkItem implements WorkItem {
  constructor(
    private readonly files: readonly HashableFile[],
    private readonly scan: Pick<Scan, 'parts' | 'unreadable'>,
    private readonly writer: HashWriter,
  ) {}

  get id(): string {
    return this.files[0]?.path ?? '';
  }

  async process(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { threads, config, root } = this.scan.parts;
    const task: HashTask = {
      kind: 'hash',
      files: JSON.stringify(this.files.map(questionOf)),
      algorithm: config.HASH_ALGORITHM,
      tree: { root: pathText(root), followLinks: config.FOLLOW_SYMLINKS },
    };
    const answers = await threads.run<string>(task, { signal }).catch(unlessAborted(signal));
    if (answers === undefined) return;
    const results = resultsOf(this.files, JSON.parse(answers) as HashAnswer[]);
    await this.writer.add(results);
    this.report(results);
  }

  private report(results: readonly HashResult[]): void {
    let fatal: FileUnreadableError | undefined;
    for (const { file, outcome } of results) {
      if (outcome.state === 'hashed') continue;
      const code = outcome.state === 'failed' ? outcome.error : outcome.state;
      const message = outcome.state === 'failed' ? outcome.message : `the file is ${outcome.state}`;
      this.scan.unreadable(file.path, code, message);
      if (meaningOfCode(code) === 'device') fatal ??= new FileUnreadableError(file.path, code, message);
    }
    if (fatal) throw fatal;
  }
}

function questionOf({ path, pathBytes, stat }: HashableFile): HashQuestion {
  return [path, pathBytes, seenText(stat)];
}

function resultsOf(files: readonly HashableFile[], answers: readonly HashAnswer[]): HashResult[] {
  return files.map((file, index) => {
    const answer = answers[index] as HashAnswer;
    return {
      file,
      outcome: typeof answer === 'string' ? { state: 'hashed', hash: answer, stat: file.stat } : answer,
    };
  });
}

/** A stop leaves the files unhashed, and the next run hashes them. */
function unlessAborted(signal: AbortSignal) {
  return (error: unknown): undefined => {
    if (!signal.aborted) throw error;
  };
}
