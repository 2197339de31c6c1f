import { createInterface } from 'node:readline/promises';
import { CLI_EXIT, CliError } from '../cli.errors.js';

export interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream & { isTTY?: boolean };
}

/** Asks before a change that was not named piece by piece. Without a terminal nobody can answer: `--yes` must say so. */
export async function confirm(
  question: string,
  yes: boolean | undefined,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<boolean> {
  if (yes) return true;
  if (!input.isTTY || !output.isTTY)
    throw new CliError('there is no terminal to ask at; look with --dry-run, then add --yes', CLI_EXIT.usage);
  const lines = createInterface({ input, output });
  const given = new AbortController();
  // Ctrl-C and Ctrl-D are answers too.
  lines.once('SIGINT', () => given.abort()).once('close', () => given.abort());
  try {
    const answer = await lines.question(`${question} [y/N] `, { signal: given.signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if (given.signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}
