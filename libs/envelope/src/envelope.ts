import type { EnvelopeName, Format, LoadedFile } from './format.js';
import { json, jsonl } from './jsonl.js';
import { markdown } from './markdown.js';
import { xml } from './xml.js';

const BY_NAME: Record<EnvelopeName, Format> = { markdown, xml, jsonl, json };

export function formatOf(name: EnvelopeName): Format {
  return BY_NAME[name];
}

/** A batch as the pieces of one text, in order. */
export function renderBatch(
  name: EnvelopeName,
  batchId: string,
  totalTokens: number,
  files: readonly LoadedFile[],
): Buffer[] {
  const format = formatOf(name);
  const pieces = files.flatMap((file, index) => renderFile(format, file, index > 0));
  return [format.open(batchId, totalTokens), ...pieces, format.close()].map((piece) =>
    typeof piece === 'string' ? Buffer.from(piece) : piece,
  );
}

function renderFile(
  format: Format,
  { path, file, bytes }: LoadedFile,
  follows: boolean,
): (string | Buffer)[] {
  const part = { ...file, path };
  const body = format.body(bytes);
  const head = format.head(part, body);
  return [follows ? `${format.separator}${head}` : head, body.written, format.foot(part, body, file.tokens)];
}
