import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '#testing';

it('the build leaves the bill of what it ships beside it', () => {
  const read = (path: string): unknown => JSON.parse(readFileSync(join(PROJECT_ROOT, path), 'utf8'));
  const bom = read('dist/sbom.json') as { bomFormat: string; components: { name: string }[] };
  const { dependencies } = read('package.json') as { dependencies: Record<string, string> };
  expect(bom.bomFormat).toBe('CycloneDX');
  expect(bom.components.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(dependencies)));
});
