import type { Format } from './format.js';

const CDATA_END = Buffer.from(']]>');
const CDATA_SPLIT = Buffer.from(']]]]><![CDATA[>');

/** One `document` element a file, its bytes in CDATA; `]]>` inside is split over two sections, as XML asks. */
export const xml: Format = {
  extension: 'xml',
  open: (batchId, totalTokens) => `<batch id="${attribute(batchId)}" tokens="${totalTokens}">\n`,
  head: ({ path, file }) =>
    `<document path="${attribute(path)}"${file.parts > 1 ? ` part="${file.part}" parts="${file.parts}"` : ''}><![CDATA[`,
  body: ({ bytes }) => replaceAll(bytes, CDATA_END, CDATA_SPLIT),
  foot: () => ']]></document>\n',
  close: () => '</batch>\n',
};

function attribute(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

function replaceAll(bytes: Buffer, from: Buffer, to: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let start = 0;
  for (let at = bytes.indexOf(from); at !== -1; at = bytes.indexOf(from, start)) {
    pieces.push(bytes.subarray(start, at), to);
    start = at + from.length;
  }
  return pieces.length === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(start)]);
}
