import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '#testing';
import { VERSION } from './version.js';

it('is the version of package.json', () => {
  const manifest = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as object;
  expect(manifest).toMatchObject({ version: VERSION });
});
