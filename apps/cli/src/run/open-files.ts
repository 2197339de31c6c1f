import { readFile } from 'node:fs/promises';
import { CLI_EXIT, CliError } from '../cli.errors.js';

// A worker holds some hundred files at rest, and those that its threads read.
const NEEDED = 256;

/** With too few open files, processes end at random places. Node has raised the limit as far as it may before this is asked. */
export async function requireOpenFiles(): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const allowed = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (allowed === undefined || Number(allowed) >= NEEDED) return;
  throw new CliError(
    `this shell allows ${allowed} open files a process, and a run needs ${NEEDED}; raise it: ulimit -n 4096`,
    CLI_EXIT.unavailable,
  );
}
