import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

// Browsers find modules by address, so the import of preact is one; nothing else differs from the package.
const asServed = (text: string): string =>
  text.replace('from"preact"', 'from"./preact.js"').replace(/^\/\/# sourceMappingURL.*\n?/m, '');

it.each([
  ['preact.js', 'preact/dist/preact.mjs'],
  ['hooks.js', 'preact/hooks/dist/hooks.mjs'],
  ['htm.js', 'htm/dist/htm.mjs'],
])('vendor/%s is the file of the installed package', (file, source) => {
  expect(read(`apps/dlq-admin/ui/vendor/${file}`).trim()).toBe(
    asServed(read(`node_modules/${source}`)).trim(),
  );
});
