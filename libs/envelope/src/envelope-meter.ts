import { countTokens, tokensAround, type EncodingName } from '#tokens';
import { formatOf } from './envelope.js';
import type { EnvelopeName, Format, PartFacts } from './format.js';

interface PartCost {
  /** Of the content as it is written. */
  tokens: number;
  /** With what stands around it: what the part adds to its batch. */
  cost: number;
}

/** What was counted before: the bytes, or the bytes as written. */
interface Counted {
  raw?: number | undefined;
  written?: number | undefined;
}

const LINE = Buffer.from('\n');

/**
 * What parts of files cost in a batch, counted on what is written, by the code that writes it. Costs add up exactly:
 * a batch whose costs and the format's `batchTokens` fit the budget fits it as written (see `Format`).
 */
export class EnvelopeMeter {
  readonly format: Format;

  constructor(
    name: EnvelopeName,
    private readonly encoding: EncodingName,
  ) {
    this.format = formatOf(name);
  }

  /** What a long content cannot have of a batch. */
  aroundTokens(part: PartFacts): number {
    return this.measure(part, LINE, { raw: 1 }).cost - 1;
  }

  /** What was counted before is not counted again. */
  measure(part: PartFacts, bytes: Buffer, counted: Counted = {}): PartCost {
    const { format, encoding } = this;
    const body = format.body(bytes);
    const known = counted.written ?? (body.written === bytes ? counted.raw : undefined);
    const tokens = known ?? countTokens(body.written, encoding);
    const head = `${format.separator}${format.head(part, body)}`;
    const foot = format.foot(part, body, tokens);
    return { tokens, cost: tokens + tokensAround(head, body.written, foot, { encoding, tokens }) };
  }
}
