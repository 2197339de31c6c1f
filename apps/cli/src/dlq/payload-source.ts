import { readFile } from 'node:fs/promises';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { editInEditor } from './editor.js';
import { readAll, type KeyOptions } from './key-source.js';
import { parseAssignment, removeAt, setAt } from './payload-edit.js';

export interface PayloadOptions extends KeyOptions {
  set?: string[];
  unset?: string[];
  file?: string;
}

/** The new payload, by whichever way was chosen: single places, a file, standard input, or the editor. */
export async function editedPayload(payload: unknown, options: PayloadOptions): Promise<unknown> {
  const { set = [], unset = [], file } = options;
  const places = set.length + unset.length;
  if (file === undefined) return places === 0 ? editInEditor(payload) : editPlaces(payload, set, unset);
  if (places > 0)
    throw new CliError('--file gives the whole payload; leave out --set and --unset', CLI_EXIT.usage);
  return parsePayload(await readSource(file, options), file === '-' ? 'standard input' : file);
}

function editPlaces(payload: unknown, set: readonly string[], unset: readonly string[]): unknown {
  const assigned = set
    .map(parseAssignment)
    .reduce((edited, { path, value }) => setAt(edited, path, value), payload);
  return unset.reduce((edited, path) => removeAt(edited, path), assigned);
}

async function readSource(file: string, { keyStdin }: KeyOptions): Promise<string> {
  if (file === '-' && keyStdin)
    throw new CliError(
      'standard input cannot hold both key and payload; use --key-file or MILLRACE_DLQ_API_KEY',
      CLI_EXIT.usage,
    );
  if (file === '-') return readAll(process.stdin);
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, CLI_EXIT.noInput, error);
  });
}

export function parsePayload(text: string, origin: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(
      `${origin} does not hold JSON (${(error as Error).message}); mend it and give it with --file`,
      CLI_EXIT.usage,
      error,
    );
  }
}
