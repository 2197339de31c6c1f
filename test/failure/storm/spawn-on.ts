import { join } from 'node:path';
import { PROJECT_ROOT, spawnProgram, type Child } from '#testing';

/** Starts a built file of this project behind a command such as `ip netns exec <name>`, on a free port. */
export function spawnOn(on: readonly string[], entry: string, env: Record<string, string>): Child {
  const file = join(PROJECT_ROOT, 'dist', `${entry}.js`);
  const [command = '', ...args] = [...on, process.execPath, '--enable-source-maps', file];
  return spawnProgram(command, args, { env: { PORT: '0', ...env } });
}
