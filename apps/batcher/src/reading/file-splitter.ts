import { splitByTokens, type EncodingName, type TokenPart } from '#tokens';
import { ContentMeter } from './content-meter.js';
import type { OpenFile } from './open-file.js';
import type { Part } from './read-outcome.js';

export interface SplitOptions {
  /** Tokens that a batch has for its items. */
  room: number;
  /** Tokens that a part may have: the room without its heading. */
  budget: number;
  encoding: EncodingName;
  /** What the text around a part may take, given how often `]]>` stands in it. */
  allowance: (cdataEnds: number) => number;
  /** Of the whole file, as it was counted. */
  hash: string;
}

// Less than this of a budget is no budget: a heading as long would drown the content.
export const MIN_BUDGET = 64;
const TIGHTER = 0.95;

/**
 * The parts of a file that is larger than a batch, each at most as large as one, cut at line ends where they can be:
 * `cuts`, if they were found already and do. `changed` when the file is no longer what was counted, `no-room` when its
 * heading leaves none for content.
 */
export function splitFile(
  file: OpenFile,
  cuts: TokenPart[] | undefined,
  options: SplitOptions,
): Part[] | 'changed' | 'no-room' {
  let { budget } = options;
  let known = cuts;
  while (budget >= MIN_BUDGET) {
    known ??= [...splitByTokens(file.chunks(), budget, options.encoding)];
    const parts = measure(file, known, options);
    if (parts === 'changed') return parts;
    const worst = Math.max(...parts.map(({ cost }) => cost));
    if (worst <= options.room) return parts;
    // `]]>` costs more than it counts; a file full of them needs smaller parts.
    budget = Math.floor((budget * options.room * TIGHTER) / worst);
    known = undefined;
  }
  return 'no-room';
}

/** The parts with their own hashes. Reads the file again, and makes sure that it is the file that was counted. */
function measure(file: OpenFile, cuts: TokenPart[], { allowance, hash }: SplitOptions): Part[] | 'changed' {
  const whole = new ContentMeter();
  const parts = cuts.map(({ start, end, tokens }) => {
    const meter = new ContentMeter();
    for (const chunk of file.range(start, end)) {
      meter.add(chunk, false);
      whole.add(chunk, false);
    }
    return { start, end, tokens, cost: tokens + allowance(meter.cdataEnds), hash: meter.digest() };
  });
  return whole.digest() === hash ? parts : 'changed';
}
