import type { Format, FormatName, LoadedFile } from './format.js';
import { jsonl } from './jsonl.js';
import { markdown } from './markdown.js';
import { shownPath } from './shown-path.js';
import { xml } from './xml.js';

const BY_NAME: Record<FormatName, Format> = { markdown, xml, jsonl };

export function formatOf(name: FormatName): Format {
  return BY_NAME[name];
}

/** A batch as the pieces of one text, in order. */
export function renderBatch(
  name: FormatName,
  batchId: string,
  totalTokens: number,
  files: readonly LoadedFile[],
): Buffer[] {
  const format = formatOf(name);
  const pieces = files.flatMap((loaded) => [format.head(loaded), format.body(loaded), format.foot(loaded)]);
  return [format.open(batchId, totalTokens), ...pieces, format.close()].map((piece) =>
    typeof piece === 'string' ? Buffer.from(piece) : piece,
  );
}

/** What the text around all files of a batch may cost. */
export const BATCH_ALLOWANCE_TOKENS = 64;

// Tokens do not add up exactly where two texts meet: a cut may split what would have been one token, on either side.
const SEAM_TOKENS = 8;

// What splitting one `]]>` over two CDATA sections adds.
const CDATA_TOKENS = 8;
const LONGEST_FENCE = Buffer.from(`${'`'.repeat(64)}${'~'.repeat(64)}`);

/**
 * How many tokens to set aside for what stands around one file, in the costliest format, whatever part it is. A batch
 * whose contents and allowances fit the budget fits it as written (Markdown or XML), counted as one text.
 * `cdataEnds`: how often `]]>` stands in the content.
 */
export function allowanceTokens(path: string, countTokens: (text: string) => number, cdataEnds = 0): number {
  const loaded: LoadedFile = {
    file: { tokens: 0, part: 999_999, parts: 999_999, start: 0, end: 0, hash: '' },
    path: shownPath(path),
    bytes: LONGEST_FENCE,
  };
  const costs = [markdown, xml].map((format) => countTokens(`${format.head(loaded)}${format.foot(loaded)}`));
  return Math.max(...costs) + SEAM_TOKENS + cdataEnds * CDATA_TOKENS;
}
