import { meaningOfCode, pathText } from '#files';
import type { Coalescer } from '#service';
import type { WorkItem } from '#worker-pool';
import type { HashableFile } from '../registration/files.repository.js';
import type { Scan } from '../scan.js';
import type { HashOutcome, HashTask } from './hash-file.js';

export interface HashResult {
  file: HashableFile;
  outcome: HashOutcome;
}

/** Gathers the results of several items for a transaction. */
export type HashWriter = Pick<Coalescer<readonly HashResult[], void>, 'add'>;

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
      paths: JSON.stringify(this.files.map(({ path, pathBytes }) => ({ text: path, bytes: pathBytes }))),
      algorithm: config.HASH_ALGORITHM,
      tree: { root: pathText(root), followLinks: config.FOLLOW_SYMLINKS },
    };
    const answer = await threads.run<string>(task, { signal }).catch(unlessAborted(signal));
    if (answer === undefined) return;
    const outcomes = JSON.parse(answer) as HashOutcome[];
    const results = this.files.map((file, at) => ({ file, outcome: outcomes[at] as HashOutcome }));
    await this.writer.add(results);
    this.report(results);
  }

  private report(results: readonly HashResult[]): void {
    let fatal: Error | undefined;
    for (const { file, outcome } of results) {
      if (outcome.state === 'hashed') continue;
      const { path } = file;
      const code = outcome.state === 'failed' ? outcome.error : outcome.state;
      const message = outcome.state === 'failed' ? outcome.message : `the file is ${outcome.state}`;
      this.scan.unreadable(path, code, message);
      if (meaningOfCode(code) === 'device')
        fatal ??= Object.assign(new Error(`${path} could not be read: ${message}`), { path, code });
    }
    if (fatal) throw fatal;
  }
}

/** A stop leaves the files unhashed, and the next run hashes them. */
function unlessAborted(signal: AbortSignal) {
  return (error: unknown): undefined => {
    if (!signal.aborted) throw error;
  };
}
