import { spawnSync } from 'node:child_process';

export interface Timed {
  wall: number;
  /** Seconds of processor time of the command and all that it waited for. */
  cpu: number;
  stdout: string;
}

/** Runs a command to its end. Its environment is what is given, PATH and HOME. */
export function timed(command: readonly string[], env: Record<string, string> = {}, cwd?: string): Timed {
  const { PATH, HOME } = process.env;
  // What the shell's `time` tells comes last on its own standard error.
  const script = 'TIMEFORMAT="%R %U %S"; time "$@"';
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...command], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    env: { PATH, HOME, ...env },
  });
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr.slice(-2_000)}`);
  const [wall = 0, user = 0, system = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return { wall, cpu: user + system, stdout };
}

/** A fixed piece of work; how much longer it takes than the processor time it needs tells how idle the machine is. */
export function idleness(): number {
  const { wall, cpu } = timed([process.execPath, '-e', 'for (let i = 0, x = 0; i < 6e8; i++) x += i % 7']);
  return cpu / wall;
}
