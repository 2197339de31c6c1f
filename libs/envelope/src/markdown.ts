import type { Format } from './format.js';
import { partLabel } from './shown-path.js';

const NEWLINE = 0x0a;
const BACKTICK = 0x60;
const TILDE = 0x7e;

/** A heading and a fenced block a file. The bytes stand as they are; the fence is longer than the fences in them. */
export const markdown: Format = {
  extension: 'md',
  rewrites: 'never',
  batchTokens: 52,
  separator: '',
  open: (batchId, totalTokens) => `# Batch ${batchId}\n\n${totalTokens} tokens\n\n`,
  body: (bytes) => ({ encoding: 'utf-8', written: bytes, fence: fenceOf(bytes) }),
  head: (part, { fence = '' }) => `## ${part.path}${partLabel(part)}\n\n${fence}\n`,
  foot: (_, { written, fence = '' }) => `${written.at(-1) === NEWLINE ? '' : '\n'}${fence}\n\n`,
  close: () => '',
};

// A fence is never longer than this, so that what it costs is known before the content is. Only a file with runs of 32
// backticks and of 32 tildes can end its block early for a strict reader; its bytes stand as they are all the same.
const MAX_FENCE = 33;

/** Three backticks, or one more than the longest run in the content; tildes when they come out shorter. */
function fenceOf(bytes: Buffer): string {
  const backticks = fenceLength(bytes, BACKTICK);
  const tildes = backticks > MAX_FENCE ? fenceLength(bytes, TILDE) : MAX_FENCE;
  return tildes < MAX_FENCE ? '~'.repeat(tildes) : '`'.repeat(Math.min(backticks, MAX_FENCE));
}

function fenceLength(bytes: Buffer, char: number): number {
  let longest = 2;
  for (let at = bytes.indexOf(char); at !== -1; at = bytes.indexOf(char, at)) {
    const start = at;
    while (bytes[at] === char) at++;
    longest = Math.max(longest, at - start);
  }
  return longest + 1;
}
