import { createHash, hash } from 'node:crypto';
import type { OpenFile } from '#files';
import { TokenSplitter, type EncodingName, type TokenPart } from '#tokens';
import type { Part } from './read-outcome.js';

interface SplitOptions {
  /** Tokens that a batch has for its items. */
  room: number;
  /** Tokens that the content of a part may have: the room without what stands around it. */
  budget: number;
  encoding: EncodingName;
  /** What a part takes in a batch. `raw`: tokens of its bytes. */
  measure: (part: Pick<Part, 'start' | 'end' | 'hash'>, bytes: Buffer, raw: number) => Part;
}

/** A part with what it was made of. */
interface Tried {
  part: Part;
  bytes: Buffer;
  /** Tokens that its bytes were cut to. */
  budget: number;
}

// Less than this of a budget is no budget: a heading as long would drown the content.
export const MIN_BUDGET = 64;
/** A part this full is not tried larger. */
const FULL_RATIO = 0.97;
const TIGHTER = 0.99;
const TRIES = 4;
const SHORTEST_STEP = 16_384;
const LONGEST_STEP = 1_048_576;

/**
 * Splits a file that is larger than a batch into parts that each fit one as they are written, cut at line ends where they
 * can be. Reads the file again: `digest` tells what was read.
 */
export class FileSplitter {
  private readonly whole = createHash('sha256');

  constructor(
    private readonly file: OpenFile,
    private readonly options: SplitOptions,
  ) {}

  /** Parts that end at `cuts`, where what lies between them fits. Undefined: the heading leaves no room for content. */
  split(cuts: readonly TokenPart[]): Part[] | undefined {
    const parts: Part[] = [];
    for (const { start, end, tokens } of cuts) {
      const tried = this.try(start, end, tokens);
      const fitting = this.fits(tried) ? [this.accept(tried)] : this.fit(start, end);
      if (!fitting) return undefined;
      parts.push(...fitting);
    }
    return parts;
  }

  /** Parts of start..end, when only trying tells how much of it fits as written. */
  fit(start: number, end: number): Part[] | undefined {
    const parts: Part[] = [];
    let { budget } = this.options;
    for (let at = start; at < end;) {
      const best = this.fitFirst(at, end, budget);
      if (!best) return undefined;
      parts.push(this.accept(best));
      ({ budget } = best);
      at = best.part.end;
    }
    return parts;
  }

  /** Of all bytes that the parts are made of. */
  digest(): string {
    return this.whole.digest('hex');
  }

  /** The first part of start..end, tried smaller until it fits and larger while much room is left. */
  private fitFirst(start: number, end: number, firstBudget: number): Tried | undefined {
    const { room } = this.options;
    let budget = firstBudget;
    let best: Tried | undefined;
    for (let tries = 1; budget >= MIN_BUDGET; tries++) {
      const cut = this.firstCut(start, end, budget);
      const tried = { ...this.try(start, start + cut.end, cut.tokens), budget };
      const { cost } = tried.part;
      if (!this.fits(tried)) {
        if (best) return best;
      } else if (!best || tried.part.end > best.part.end) best = tried;
      if (best && (best.part.end === end || best.part.cost >= room * FULL_RATIO || tries >= TRIES))
        return best;
      budget = Math.floor(Math.min(budget, cut.tokens) * (room / cost) * TIGHTER);
    }
    return best;
  }

  private firstCut(start: number, end: number, budget: number): TokenPart {
    const splitter = new TokenSplitter(budget, this.options.encoding);
    const step = Math.min(LONGEST_STEP, Math.max(SHORTEST_STEP, budget * 4));
    for (let at = start; at < end; at += step) {
      const [first] = splitter.push(this.file.bytes(at, Math.min(end, at + step)));
      if (first) return first;
    }
    return splitter.end()[0] as TokenPart;
  }

  private try(start: number, end: number, raw: number): Tried {
    const bytes = this.file.bytes(start, end);
    const part = this.options.measure({ start, end, hash: hash('sha256', bytes) }, bytes, raw);
    return { part, bytes, budget: raw };
  }

  private fits({ part }: Tried): boolean {
    return part.cost <= this.options.room;
  }

  private accept({ part, bytes }: Tried): Part {
    this.whole.update(bytes);
    return part;
  }
}
