import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment } from '#config';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { parsePayload } from './payload-source.js';

/** Lets a person change the payload in their editor. What does not parse stays on disk, so that no work is lost. */
export async function editInEditor(payload: unknown): Promise<unknown> {
  const { VISUAL, EDITOR } = environment();
  const editor = VISUAL || EDITOR;
  if (!editor || !process.stdin.isTTY)
    throw new CliError(
      'there is no editor to open here; set EDITOR and use a terminal, or give --set, --unset or --file',
      CLI_EXIT.usage,
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
