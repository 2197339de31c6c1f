import { isUtf8 } from 'node:buffer';
import type { Body, Format } from './format.js';

const CDATA_END = ']]>';
const CDATA_SPLIT = ']]]]><![CDATA[>';

// What XML 1.0 cannot hold in any form, not even as a reference.
// eslint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;
const NONCHARACTERS = [Buffer.from('\uFFFE'), Buffer.from('\uFFFF')];
// eslint-disable-next-line no-control-regex
const TO_ESCAPE = /[\\\u0000-\u0008\u000b\u000c\u000e-\u001f\uFFFE\uFFFF]/g;

/**
 * One `document` element a file, its bytes in CDATA; `]]>` inside is split over two sections, as XML asks. A text with
 * characters that XML cannot hold is `encoding="escaped"`: those as `\uXXXX`, a backslash as `\\`. Bytes that are not
 * UTF-8 are `encoding="base64"`.
 */
export const xml: Format = {
  extension: 'xml',
  rewrites: 'seldom',
  batchTokens: 60,
  separator: '',
  open: (batchId, totalTokens) => `<batch id="${attribute(batchId)}" tokens="${totalTokens}">\n`,
  body,
  head: ({ path, part, parts }, { encoding }) =>
    `<document path="${attribute(path)}"${parts > 1 ? ` part="${part}" parts="${parts}"` : ''}${
      encoding === 'utf-8' ? '' : ` encoding="${encoding}"`
    }><![CDATA[`,
  foot: () => ']]></document>\n',
  close: () => '</batch>\n',
};

function body(bytes: Buffer): Body {
  if (!isUtf8(bytes)) return { encoding: 'base64', written: Buffer.from(bytes.toString('base64')) };
  if (!isForbidden(bytes)) return { encoding: 'utf-8', written: inCdata(bytes) };
  return { encoding: 'escaped', written: inCdata(Buffer.from(bytes.toString().replace(TO_ESCAPE, escape))) };
}

function isForbidden(bytes: Buffer): boolean {
  return (
    FORBIDDEN.test(bytes.toString('latin1')) || NONCHARACTERS.some((character) => bytes.includes(character))
  );
}

function escape(character: string): string {
  if (character === '\\') return '\\\\';
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function attribute(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/[\uFFFE\uFFFF]/g, '\uFFFD');
}

/** The bytes themselves where nothing is to be split. As latin1 they are a character each. */
function inCdata(bytes: Buffer): Buffer {
  if (!bytes.includes(CDATA_END)) return bytes;
  return Buffer.from(bytes.toString('latin1').replaceAll(CDATA_END, CDATA_SPLIT), 'latin1');
}
