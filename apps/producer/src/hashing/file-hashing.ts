import { meaningOfCode } from '#files';
import type { ThreadPool, WorkItem } from '#worker-pool';
import { seenText, type HashAlgorithm, type HashOutcome } from './hash-file.js';
import type { HashAnswer, HashQuestion, HashTask, Tree } from './hash-task.js';
import type { HashableFile } from './hash.repository.js';

export interface HashResult {
  file: HashableFile;
  outcome: HashOutcome;
}

export interface HashingContext {
  threads: Pick<ThreadPool, 'run'>;
  algorithm: HashAlgorithm;
  tree: Tree;
  /** Waits while the writer is behind. */
  record: (results: readonly HashResult[]) => Promise<void>;
  nonFatal: (path: string, code: string, message: string) => void;
}

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
    private readonly context: HashingContext,
  ) {}

  get id(): string {
    return this.files[0]?.path ?? '';
  }

  async process(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const questions = this.files.map(questionOf);
    const { algorithm, tree } = this.context;
    const task: HashTask = { kind: 'hash', files: JSON.stringify(questions), algorithm, tree };
    const answers = await this.context.threads.run<string>(task, { signal }).catch(unlessAborted(signal));
    if (answers === undefined) return;
    const results = resultsOf(this.files, JSON.parse(answers) as HashAnswer[]);
    await this.context.record(results);
    this.report(results);
  }

  private report(results: readonly HashResult[]): void {
    let fatal: FileUnreadableError | undefined;
    for (const { file, outcome } of results) {
      if (outcome.state === 'hashed') continue;
      const code = outcome.state === 'failed' ? outcome.error : outcome.state;
      const message = outcome.state === 'failed' ? outcome.message : `the file is ${outcome.state}`;
      this.context.nonFatal(file.path, code, message);
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
