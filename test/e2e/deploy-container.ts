import { spawnSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import { PROJECT_ROOT, spawnProgram, type Child } from '#testing';

const NOBODY = 65_534;
// An image holds nothing of a run on the same folder, so that is hidden.
const HIDE_RUN = 'if [ -d "$0/.millrace" ]; then mount -t tmpfs none "$0/.millrace"; fi';
const READ_ONLY = `mount --bind "$0" "$0" && ${HIDE_RUN} && mount -o remount,bind,ro "$0" && exec "$@"`;
const MOUNTED = ['unshare', '--mount', 'sh', '-c', READ_ONLY, PROJECT_ROOT];
const DEPRIVED = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--no-new-privs'];

/**
 * What a container runtime does to a process, as far as this machine lets us: a user without rights, no new ones, and
 * the program's files read-only. Without root it is the caller's own user on writable files.
 */
const CONFINEMENT: readonly string[] = [
  [...MOUNTED, ...DEPRIVED, '--bounding-set=-all'],
  [...DEPRIVED, '--bounding-set=-all'],
  [],
].find((words) => works([...words, process.execPath, '--version'])) as readonly string[];

function works([command = '', ...args]: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Runs the arguments of a container as its entry point, node, would. */
export function runContainer(args: readonly string[], env: NodeJS.ProcessEnv): Child {
  const [command = '', ...rest] = [...CONFINEMENT, process.execPath, ...args];
  return spawnProgram(command, rest, { env: { MILLRACE_ENVIRONMENT: 'container', ...env } });
}

/** Gives a folder or file to the user that containers run as. */
export function giveToContainers(path: string): void {
  if (CONFINEMENT.includes('setpriv')) chownSync(path, NOBODY, NOBODY);
}
