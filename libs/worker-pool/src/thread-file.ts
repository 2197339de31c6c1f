import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { threadFileMissing } from './worker-pool.errors.js';

/**
 * The built thread file at `path` relative to the module at `moduleUrl`. Built modules find their neighbour; modules
 * that run from TypeScript sources (tests) find the neighbour of their build, since threads run built code only.
 */
export function threadFile(moduleUrl: string, path: string): URL {
  const url = new URL(path, moduleUrl);
  const file = moduleUrl.endsWith('.ts') ? pathToFileURL(builtPath(fileURLToPath(url))) : url;
  if (!existsSync(file)) throw threadFileMissing(fileURLToPath(file));
  return file;
}

function builtPath(source: string): string {
  const root = packageRoot(dirname(source)) ?? dirname(source);
  return join(root, 'dist', relative(root, source));
}

function packageRoot(folder: string): string | undefined {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : packageRoot(parent);
}
