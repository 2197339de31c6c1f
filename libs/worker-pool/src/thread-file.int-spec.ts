import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { withTempFolder } from '#testing';
import { threadFile } from './thread-file.js';

async function put(...parts: string[]): Promise<string> {
  const path = join(...parts);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '{}');
  return pathToFileURL(path).href;
}

describe('threadFile', () => {
  it('finds the built file for a module that runs from its TypeScript source', () =>
    withTempFolder(async (root) => {
      await put(root, 'package.json');
      const built = await put(root, 'dist/libs/x/src/hash.thread.js');
      const source = pathToFileURL(join(root, 'libs/x/src/hasher.ts')).href;
      expect(threadFile(source, './hash.thread.js').href).toBe(built);
    }));

  it('finds the neighbour of a built module', () =>
    withTempFolder(async (root) => {
      await put(root, 'package.json');
      const built = await put(root, 'dist/libs/x/src/hash.thread.js');
      const module = pathToFileURL(join(root, 'dist/libs/x/src/hasher.js')).href;
      expect(threadFile(module, './hash.thread.js').href).toBe(built);
    }));

  it('is not misled by folder names above the package, nor by characters that URLs escape', () =>
    withTempFolder(async (root) => {
      const home = join(root, 'libs/a b/src#1');
      await put(home, 'package.json');
      const built = await put(home, 'dist/libs/x/src/hash.thread.js');
      const source = pathToFileURL(join(home, 'libs/x/src/deep/hasher.ts')).href;
      expect(threadFile(source, '../hash.thread.js').href).toBe(built);
    }));

  it('says to build when there is no such file', () =>
    withTempFolder(async (root) => {
      await put(root, 'package.json');
      const source = pathToFileURL(join(root, 'libs/x/src/hasher.ts')).href;
      const path = join(root, 'dist/libs/x/src/hash.thread.js');
      expect(() => threadFile(source, './hash.thread.js')).toThrow(
        expect.objectContaining({
          code: 'THREAD_FILE_MISSING',
          file: path,
          message: `thread file ${path} does not exist; threads run built code: run npm run build`,
        }),
      );
    }));
});
