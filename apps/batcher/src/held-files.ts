import type { JobFile } from '#contracts';

/** Told what became of a file: a commit settled it, or it could not be settled now. Only the first counts. */
export interface Outcome {
  done(): void;
  fail(error: unknown): void;
}

/** A file of a job in hand. */
export class HeldFile implements Outcome {
  private ended = false;

  constructor(
    readonly file: JobFile,
    private readonly job: HeldFiles,
  ) {}

  done(): void {
    if (this.ended) return;
    this.ended = true;
    if (--this.job.open === 0) this.job.end();
  }

  fail(error: unknown): void {
    if (this.ended) return;
    this.job.failures.push({ file: this.file, error });
    this.done();
  }
}

/** The files of one job, until each has its outcome: one promise a job, not one a file. */
export class HeldFiles {
  readonly files: readonly HeldFile[];
  readonly failures: { file: JobFile; error: unknown }[] = [];
  readonly ended: Promise<void>;
  open: number;
  end!: () => void;

  constructor(files: readonly JobFile[]) {
    this.open = files.length;
    this.files = files.map((file) => new HeldFile(file, this));
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  /** Those without an outcome have this one. */
  failRest(error: unknown): void {
    for (const file of this.files) file.fail(error);
  }
}
