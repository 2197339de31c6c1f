import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment } from '#config';
import { CLI_EXIT, CliError, UsageError } from '../cli.errors.js';
import { readInput, type KeyOptions } from './key-source.js';
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
  if (places > 0) throw new UsageError('--file gives the whole payload; leave out --set and --unset');
  if (file === '-') return parsePayload(await readInput('payload', options), 'standard input');
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, CLI_EXIT.noInput, error);
  });
  return parsePayload(text, file);
}

function editPlaces(payload: unknown, set: readonly string[], unset: readonly string[]): unknown {
  const assigned = set
    .map(parseAssignment)
    .reduce((edited, { path, value }) => setAt(edited, path, value), payload);
  return unset.reduce(removeAt, assigned);
}

function parsePayload(text: string, origin: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = (error as Error).message;
    throw new UsageError(`${origin} does not hold JSON (${reason}); fix it and give it with --file`, error);
  }
}

/** Lets a person change the payload in their editor. What does not parse stays on disk, so that no work is lost. */
async function editInEditor(payload: unknown): Promise<unknown> {
  const { VISUAL, EDITOR } = environment();
  const editor = VISUAL || EDITOR;
  if (!editor || !process.stdin.isTTY)
    throw new UsageError(
      'there is no editor to open here; set EDITOR and use a terminal, or give --set, --unset or --file',
    );
  const folder = await mkdtemp(join(tmpdir(), 'millrace-edit-'));
  const path = join(folder, 'payload.json');
  await writeFile(path, `${JSON.stringify(payload, null, 2)}\n`, { mode: 0o600 });
  await runEditor(editor, path);
  const edited = parsePayload(await readFile(path, 'utf8'), path);
  await rm(folder, { recursive: true, force: true });
  return edited;
}

// EDITOR may hold arguments, as git and crontab allow; the path is passed apart from it.
async function runEditor(editor: string, path: string): Promise<void> {
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'millrace', path], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0)
    throw new CliError(`the editor (${editor}) failed; nothing was changed, the text is at ${path}`);
}
