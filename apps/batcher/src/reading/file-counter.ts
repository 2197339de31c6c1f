import { allowanceTokens, BATCH_ALLOWANCE_TOKENS } from '#envelope';
import { countTokens, TokenCounter } from '#tokens';
import { isBinary } from './content-probe.js';
import { ContentMeter } from './content-meter.js';
import { outcomeOfFault } from './fs-faults.js';
import { OpenFile } from './open-file.js';
import { splitFile } from './file-splitter.js';
import type { FileRef, ReadOutcome, ReadSettings, ReadTask, SkippedOutcome } from './read-outcome.js';

const READS = 3;
// Hardly a text has longer tokens, so a file with more bytes than this for each token of a batch has to be split. It is
// not counted before it is; should it fit after all, splitting finds one part.
const LONGEST_TOKEN_BYTES = 8;
const REMEMBERED = 20_000;

/** Files larger than this are split without being counted as a whole. */
export function oversizeBytes(maxTokens: number): number {
  return maxTokens * LONGEST_TOKEN_BYTES;
}

/** What one read of a whole file found; `tokens` is Infinity when it was not counted because it has to be split. */
interface Content {
  hash: string;
  cdataEnds: number;
  tokens: number;
}

/**
 * Reads files and counts their tokens, on a thread. One pass over a file gives hash, tokens and encoding check; only a
 * file larger than a batch is read again, to be split. Never throws for what a file or the file system does: that is an
 * outcome. What it reports was read from one inode that did not change meanwhile.
 */
export class FileCounter {
  private readonly counter: TokenCounter;
  /** Tokens by content hash, so that copies are counted once. */
  private readonly counted = new Map<string, number>();

  constructor(
    private readonly settings: ReadSettings,
    private readonly checkpoint: () => void = () => {},
  ) {
    this.counter = new TokenCounter(settings.encoding);
  }

  read(what: ReadTask['what'], ref: FileRef): ReadOutcome {
    for (let tries = 1; ; tries++) {
      const outcome = this.readOnce(what, ref);
      if (outcome.kind !== 'changed' || tries === READS) return outcome;
    }
  }

  private readOnce(what: ReadTask['what'], ref: FileRef): ReadOutcome {
    let aborted: unknown;
    const checkpoint = (): void => {
      try {
        this.checkpoint();
      } catch (error) {
        aborted = error;
        throw error;
      }
    };
    try {
      return OpenFile.use(ref, checkpoint, (file) => this.inspect(what, ref, file));
    } catch (error) {
      if (error === aborted) throw error;
      return outcomeOfFault(error);
    }
  }

  private inspect(what: ReadTask['what'], ref: FileRef, file: OpenFile): ReadOutcome {
    if (!file.isRegular) return skipped('not-a-file');
    if (file.size > this.settings.maxFileBytes) return skipped('too-large', `${file.size} bytes`);
    if (what === 'hash') return this.hash(file);
    const content = this.measure(ref.known, file);
    if ('kind' in content) return content;
    return this.outcome(ref, file, content);
  }

  private hash(file: OpenFile): ReadOutcome {
    const meter = new ContentMeter();
    for (const chunk of file.chunks()) meter.add(chunk, meter.bytes + chunk.length >= file.size);
    return meter.bytes === file.size ? { kind: 'hashed', hash: meter.digest() } : { kind: 'changed' };
  }

  private measure(known: FileRef['known'], file: OpenFile): Content | ReadOutcome {
    // What a read that failed half-way left behind.
    this.counter.end();
    const meter = new ContentMeter();
    let tokens = known?.tokens ?? this.surelyOversize(file);
    for (const chunk of file.chunks()) {
      const first = meter.bytes === 0;
      if (first && isBinary(chunk)) return skipped('binary');
      const last = meter.bytes + chunk.length >= file.size;
      meter.add(chunk, last);
      // A file that came whole is hashed before it is counted: it may be a copy.
      if (first && last) tokens ??= this.counted.get(meter.digest());
      if (tokens === undefined) this.counter.push(chunk);
    }
    const counted = this.counter.end().tokens;
    if (meter.bytes !== file.size || !file.isUnchanged()) return { kind: 'changed' };
    if (meter.bytes === 0) return skipped('empty');
    const hash = meter.digest();
    if (known && known.hash !== hash) return this.measure(undefined, file);
    if (tokens !== Infinity) this.remember(hash, tokens ?? counted);
    return { hash, cdataEnds: meter.cdataEnds, tokens: tokens ?? counted };
  }

  private surelyOversize({ size }: OpenFile): number | undefined {
    return size > oversizeBytes(this.settings.maxTokens) ? Infinity : undefined;
  }

  private outcome(ref: FileRef, file: OpenFile, content: Content): ReadOutcome {
    const { hash, tokens, cdataEnds } = content;
    const room = this.settings.maxTokens - BATCH_ALLOWANCE_TOKENS;
    const allowance = this.allowance(ref, cdataEnds);
    const facts = file.facts(hash);
    if (tokens + allowance <= room) {
      const part = { start: 0, end: facts.size, tokens, cost: tokens + allowance, hash };
      return { kind: 'text', facts, tokens, parts: [part] };
    }
    const parts = splitFile(file, {
      room,
      encoding: this.settings.encoding,
      allowance: (ends) => this.allowance(ref, ends),
      hash,
    });
    if (parts === 'changed' || !file.isUnchanged()) return { kind: 'changed' };
    if (parts === 'no-room') return skipped('path-too-long', `its heading alone takes ${allowance} tokens`);
    return { kind: 'text', facts, tokens: parts.reduce((sum, part) => sum + part.tokens, 0), parts };
  }

  private allowance({ path }: FileRef, cdataEnds: number): number {
    return allowanceTokens(path, (text) => countTokens(text, this.settings.encoding), cdataEnds);
  }

  private remember(hash: string, tokens: number): void {
    this.counted.set(hash, tokens);
    if (this.counted.size <= REMEMBERED) return;
    for (const oldest of this.counted.keys()) return void this.counted.delete(oldest);
  }
}

function skipped(reason: SkippedOutcome['reason'], error?: string): SkippedOutcome {
  return { kind: 'skipped', reason, ...(error && { error }) };
}
