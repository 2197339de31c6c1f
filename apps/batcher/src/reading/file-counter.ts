import { createHash, hash } from 'node:crypto';
import { EnvelopeMeter, shownPath, type PartFacts } from '#envelope';
import {
  faultCode,
  FileTornError,
  folderStands,
  isBinary,
  isSystemError,
  OpenFile,
  skipReasonOfFault,
  type FilePlace,
  type OpenFolder,
} from '#files';
import { TokenSplitter, type TokenPart } from '#tokens';
import { FileSplitter, MIN_BUDGET } from './file-splitter.js';
import type { Part, ReadOutcome, ReadSettings, SkippedOutcome } from './read-outcome.js';

const READS = 3;
// Hardly a text has longer tokens, so a file with more bytes than this for each token of a batch has to be split.
const LONGEST_TOKEN_BYTES = 8;
const REMEMBERED = 20_000;
// To count less takes no longer than to remember it.
const COPY_BYTES = 4_096;
// Within the buffer that files are read into.
const SHORT_BYTES = 524_288;

/** What one read of a whole file found. */
interface Content {
  hash: string;
  /** The bytes, when they came in one chunk; valid until the next read. */
  bytes: Buffer | undefined;
  /** Tokens of the content as written, when they were known. */
  tokens: number | undefined;
  /** Where its bytes are to be cut; none when they were not counted. */
  cuts: TokenPart[];
}

// The number of parts is not known before they are cut; as many as this is assumed.
const MANY = { part: 999_999, parts: 999_999 };
const SOME_HASH = '0'.repeat(64);
// A longer fence, or a first line that merges with what stands before it.
const SEAM_TOKENS = 4;

/**
 * Reads files and counts their tokens, on a thread. One pass over a file gives hash, tokens, split points and encoding
 * check; only a file larger than a batch is read again, for the hashes of its parts. Never throws for what a file or the
 * file system does: that is an outcome. What it reports was read from one inode that did not change meanwhile.
 */
export class FileCounter {
  private readonly splitter: TokenSplitter;
  private readonly meter: EnvelopeMeter;
  /** Tokens that a batch has for its items. */
  private readonly room: number;
  /** Files up to this size are not cut while they are read. */
  private readonly shortBytes: number;
  /** Tokens by content hash, so that copies are counted once. */
  private readonly counted = new Map<string, number>();

  constructor(
    private readonly settings: ReadSettings,
    private readonly checkpoint: () => void = () => {},
  ) {
    this.splitter = new TokenSplitter(MIN_BUDGET, settings.encoding);
    this.meter = new EnvelopeMeter(settings.format, settings.encoding);
    this.room = settings.maxTokens - this.meter.format.batchTokens;
    this.shortBytes = Math.min(SHORT_BYTES, Math.floor(this.room / 2));
  }

  /** `folder`: of the file read before, if it was near. */
  read(ref: FilePlace, folder?: OpenFolder): ReadOutcome {
    const options = { checkpoint: this.checkpoint, ...(folder && { folder }) };
    for (let tries = 1; ; tries++) {
      let outcome: ReadOutcome;
      try {
        outcome = OpenFile.use(ref, (file) => this.inspect(ref, file), options);
      } catch (error) {
        outcome = outcomeOfFault(error, ref);
      }
      if (outcome.kind !== 'changed' || tries === READS) return outcome;
    }
  }

  private inspect(ref: FilePlace, file: OpenFile): ReadOutcome {
    if (file.size > this.settings.maxFileBytes) return skipped('too-large', `${file.size} bytes`);
    const content = file.size <= this.shortBytes ? this.readShort(file) : this.readWhole(ref, file);
    return 'kind' in content ? content : this.outcome(ref, file, content);
  }

  /** A file that fits a batch whatever it holds, as no byte takes more than a token: one read, and nothing to cut. */
  private readShort(file: OpenFile): Content | ReadOutcome {
    const bytes = file.whole();
    if (bytes === undefined) return { kind: 'changed' };
    if (isBinary(bytes)) return skipped('binary');
    if (!file.isUnchanged()) return { kind: 'changed' };
    if (bytes.length === 0) return skipped('empty');
    const digest = hash('sha256', bytes);
    const tokens = bytes.length < COPY_BYTES ? undefined : this.counted.get(digest);
    return { hash: digest, bytes, tokens, cuts: [] };
  }

  private readWhole(ref: FilePlace, file: OpenFile): Content | ReadOutcome {
    const { splitter } = this;
    let cutting = false;
    const whole = createHash('sha256');
    const cuts: TokenPart[] = [];
    let at = 0;
    let digest: string | undefined;
    let tokens: number | undefined;
    let bytes: Buffer | undefined;
    for (const chunk of file.chunks()) {
      const first = at === 0;
      if (first && isBinary(chunk)) return skipped('binary');
      at += chunk.length;
      bytes = first && at >= file.size ? chunk : undefined;
      // A file that came whole is hashed before it is counted: it may be a copy.
      if (bytes) digest = hash('sha256', bytes);
      else whole.update(chunk);
      if (digest !== undefined) tokens ??= this.counted.get(digest);
      // Bytes that are written as they are can be cut while they are read.
      if (tokens !== undefined || this.meter.format.rewrites === 'always') continue;
      if (!cutting) splitter.restart(Math.max(this.contentBudget(ref, file), MIN_BUDGET));
      cutting = true;
      cuts.push(...splitter.push(chunk));
    }
    if (cutting) cuts.push(...splitter.end());
    if (at !== file.size || !file.isUnchanged()) return { kind: 'changed' };
    digest ??= whole.digest('hex');
    return { hash: digest, bytes, tokens, cuts };
  }

  private outcome(ref: FilePlace, file: OpenFile, content: Content): ReadOutcome {
    const facts = { ...file.stat, hash: content.hash };
    const only = this.onePart(ref, file, content);
    if (only) return { kind: 'text', facts, tokens: only.tokens, parts: [only] };
    const parts = this.split(ref, file, content);
    if (parts === 'changed' || !file.isUnchanged()) return { kind: 'changed' };
    if (parts === 'no-room') return skipped('path-too-long', 'its heading leaves no room for content');
    return { kind: 'text', facts, tokens: parts.reduce((sum, part) => sum + part.tokens, 0), parts };
  }

  /** The file as one part, if it fits a batch. */
  private onePart(ref: FilePlace, file: OpenFile, { hash, bytes, tokens, cuts }: Content): Part | undefined {
    if (cuts.length > 1 || file.size > this.settings.maxTokens * LONGEST_TOKEN_BYTES) return undefined;
    const whole = bytes ?? file.bytes(0, file.size);
    const part = { part: 1, parts: 1, start: 0, end: file.size, hash };
    const counted = { written: tokens, raw: cuts[0]?.tokens };
    const { tokens: written, cost } = this.meter.measure(this.facts(ref, part), whole, counted);
    if (file.size >= COPY_BYTES) this.remember(hash, written);
    return cost <= this.room ? { start: 0, end: file.size, tokens: written, cost, hash } : undefined;
  }

  private split(ref: FilePlace, file: OpenFile, { hash, cuts }: Content): Part[] | 'changed' | 'no-room' {
    const budget = this.contentBudget(ref, file);
    if (budget < MIN_BUDGET) return 'no-room';
    const splitter = new FileSplitter(file, {
      ...{ room: this.room, budget, encoding: this.settings.encoding },
      measure: (part, bytes, raw) => ({
        ...part,
        ...this.meter.measure(this.facts(ref, { ...MANY, ...part }), bytes, { raw }),
      }),
    });
    const parts = cuts.length > 1 ? splitter.split(cuts) : splitter.fit(0, file.size);
    if (!parts) return 'no-room';
    return splitter.digest() === hash ? parts : 'changed';
  }

  /** Tokens that a batch has for the content of one part of the file. */
  private contentBudget(ref: FilePlace, { size }: OpenFile): number {
    const part = this.facts(ref, { ...MANY, start: size, end: size, hash: SOME_HASH });
    return this.room - this.meter.aroundTokens(part) - SEAM_TOKENS;
  }

  private facts({ path }: FilePlace, part: Omit<PartFacts, 'path'>): PartFacts {
    return { ...part, path: shownPath(path.text, this.settings.pathBase) };
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

/** Only what the file itself is at fault for skips it; everything else may pass, and never reads as "gone". */
function outcomeOfFault(error: unknown, ref: FilePlace): ReadOutcome {
  if (error instanceof FileTornError) return { kind: 'changed' };
  if (!isSystemError(error)) throw error;
  const reason = skipReasonOfFault(error);
  const code = faultCode(error);
  if (reason === 'vanished' && !folderStands(ref)) return { kind: 'away', error: code };
  if (reason) return skipped(reason, code);
  return { kind: 'failed', code, error: error.message };
}
