import { nodeArguments, spawnProgram, type Child } from '#testing';

/** Starts a program of this project, on another host when `on` leads there. */
export function spawnOn(on: readonly string[], entry: string, env: Record<string, string>): Child {
  const [command = '', ...args] = [...on, process.execPath, ...nodeArguments(entry)];
  return spawnProgram(command, args, { env: { PORT: '0', ...env } });
}
