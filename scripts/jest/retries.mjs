// The tests that may have a second try: `{ file, test, reason, since }` each in test/retries.json. The list is short and
// every entry is a debt; a test that needed a second try without being on it fails the run.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const FILE = process.env.MILLRACE_RETRIES ?? join(ROOT, 'test/retries.json');
const list = JSON.parse(readFileSync(FILE, 'utf8'));
const nameless = list.filter(
  ({ file, test, reason, since }) => !file || !test || !reason || !Date.parse(since),
);
if (nameless.length > 0)
  throw new Error('test/retries.json: every entry has file, test, reason and since (a date)');

export function retriesOf(path) {
  return list.filter(({ file }) => file === relative(ROOT, path));
}

export function mayRetry(path, test) {
  return retriesOf(path).some((entry) => entry.test === test);
}
