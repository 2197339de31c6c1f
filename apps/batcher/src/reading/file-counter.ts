import { allowanceTokens, BATCH_ALLOWANCE_TOKENS } from '#envelope';
import { countTokens, TokenSplitter, type TokenPart } from '#tokens';
import { isBinary } from './content-probe.js';
import { ContentMeter } from './content-meter.js';
import { outcomeOfFault } from './fs-faults.js';
import { OpenFile } from './open-file.js';
import { MIN_BUDGET, splitFile } from './file-splitter.js';
import type { FileRef, ReadOutcome, ReadSettings, ReadTask, SkippedOutcome } from './read-outcome.js';

const READS = 3;
// Hardly a text has longer tokens, so a file with more bytes than this for each token of a batch has to be split.
const LONGEST_TOKEN_BYTES = 8;
const REMEMBERED = 20_000;

/** Files larger than this are split. */
export function oversizeBytes(maxTokens: number): number {
  return maxTokens * LONGEST_TOKEN_BYTES;
}

/** What one read of a whole file found. */
interface Content {
  hash: string;
  cdataEnds: number;
  /** Its parts as counted; one when its count was known, even if that is too large. */
  cuts: TokenPart[];
}

/**
 * Reads files and counts their tokens, on a thread. One pass over a file gives hash, tokens, split points and encoding
 * check; only a file larger than a batch is read again, for the hashes of its parts. Never throws for what a file or the
 * file system does: that is an outcome. What it reports was read from one inode that did not change meanwhile.
 */
export class FileCounter {
  private readonly splitter: TokenSplitter;
  /** Tokens that a batch has for its items. */
  private readonly room: number;
  /** Tokens by content hash, so that copies are counted once. */
  private readonly counted = new Map<string, number>();

  constructor(
    private readonly settings: ReadSettings,
    private readonly checkpoint: () => void = () => {},
  ) {
    this.splitter = new TokenSplitter(MIN_BUDGET, settings.encoding);
    this.room = settings.maxTokens - BATCH_ALLOWANCE_TOKENS;
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
    const budget = this.room - this.allowance(ref, 0);
    const content = this.measure(ref.known, file, budget);
    return 'kind' in content ? content : this.outcome(ref, file, content, budget);
  }

  private hash(file: OpenFile): ReadOutcome {
    const meter = new ContentMeter();
    for (const chunk of file.chunks()) meter.add(chunk, meter.bytes + chunk.length >= file.size);
    return meter.bytes === file.size ? { kind: 'hashed', hash: meter.digest() } : { kind: 'changed' };
  }

  private measure(known: FileRef['known'], file: OpenFile, budget: number): Content | ReadOutcome {
    const { splitter } = this;
    splitter.restart(Math.max(budget, MIN_BUDGET));
    const meter = new ContentMeter();
    const cuts: TokenPart[] = [];
    let tokens = known?.tokens;
    for (const chunk of file.chunks()) {
      const first = meter.bytes === 0;
      if (first && isBinary(chunk)) return skipped('binary');
      const last = meter.bytes + chunk.length >= file.size;
      meter.add(chunk, last);
      // A file that came whole is hashed before it is counted: it may be a copy.
      if (first && last) tokens ??= this.counted.get(meter.digest());
      if (tokens === undefined) cuts.push(...splitter.push(chunk));
    }
    cuts.push(...splitter.end());
    if (meter.bytes !== file.size || !file.isUnchanged()) return { kind: 'changed' };
    if (meter.bytes === 0) return skipped('empty');
    const hash = meter.digest();
    if (known && known.hash !== hash) return this.measure(undefined, file, budget);
    if (tokens !== undefined) cuts.push({ start: 0, end: file.size, tokens });
    if (cuts[0] && cuts.length === 1) this.remember(hash, cuts[0].tokens);
    return { hash, cdataEnds: meter.cdataEnds, cuts };
  }

  private outcome(ref: FileRef, file: OpenFile, content: Content, budget: number): ReadOutcome {
    const { room, settings } = this;
    const { hash, cuts } = content;
    const facts = file.facts(hash);
    const allowance = (cdataEnds: number): number =>
      cdataEnds === 0 ? room - budget : this.allowance(ref, cdataEnds);
    const [only, ...others] = cuts;
    if (only && others.length === 0) {
      const cost = only.tokens + allowance(content.cdataEnds);
      if (cost <= room) return { kind: 'text', facts, tokens: only.tokens, parts: [{ ...only, cost, hash }] };
    }
    const options = { room, budget, encoding: settings.encoding, allowance, hash };
    const parts = splitFile(file, others.length > 0 ? cuts : undefined, options);
    if (parts === 'changed' || !file.isUnchanged()) return { kind: 'changed' };
    if (parts === 'no-room')
      return skipped('path-too-long', `its heading alone takes ${allowance(0)} tokens`);
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
