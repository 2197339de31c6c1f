import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { environment } from '#config';
import type { DlqClient, LetterDetail } from '#dlq-client';
import { CLI_EXIT, CliError, failing, UsageError } from '../../cli.errors.js';
import { acting, print } from '../../command.js';
import { readInput, withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { differenceLines, differences, parseAssignment, removeAt, setAt } from '../../dlq/payload-edit.js';
import { letterId } from './letters.command.js';

interface EditOptions extends ConnectionOptions {
  set?: string[];
  unset?: string[];
  file?: string;
  dryRun?: boolean;
  requeue?: boolean;
}

const collected = (value: string, before: string[] = []): string[] => [...before, value];

export function addEdit(dlq: Command): void {
  dlq
    .command('edit')
    .summary('change the payload of a letter; the one before is kept')
    .description(
      `Changes the payload of an open letter: in $EDITOR, place by place, or from a file. Shows the differences. Refused (exit
code 3) when somebody changed the letter meanwhile, or when the payload breaks the contract of its queue.`,
    )
    .argument('<id>', 'the number of the letter', letterId)
    .option(
      '--set <path=value>',
      'a place, such as user.id=7 or files[0].path=/a; may be repeated',
      collected,
    )
    .option('--unset <path>', 'remove a place; may be repeated', collected)
    .option('--file <path>', 'the whole payload from this file, - for standard input')
    .option('--note <text>', 'why; kept in history and audit log')
    .option('--dry-run', 'only show the differences')
    .option('--requeue', 'requeue the letter afterwards')
    .action(
      acting((options: EditOptions, id: number) =>
        withDlqAdmin(options, (client) => edit(client, id, options)),
      ),
    );
}

async function edit(client: DlqClient, id: number, options: EditOptions): Promise<void> {
  const say = (sentence: string, letter: LetterDetail): void => print(options, letter, () => `${sentence}\n`);
  const before = await client.letter(id);
  if (before.hidden)
    throw new CliError('editing needs the role operator; this key is a viewer', CLI_EXIT.refused);
  const payload = await editedPayload(before.payload, options);
  const changes = differences(before.payload, payload);
  if (options.output !== 'json')
    for (const line of differenceLines(changes)) process.stdout.write(`${line}\n`);
  if (changes.length === 0) return say('Nothing was changed.', before);
  if (options.dryRun) return say('Nothing was sent.', { ...before, payload });
  const after = await client.editPayload(id, before.version, payload, options.note);
  if (!options.requeue) return say(`Letter ${id} is at version ${after.version}.`, after);
  const requeued = { ...after, ...(await client.change(id, 'requeue', options.note)) };
  say(`Letter ${id} is ${requeued.status}.`, requeued);
}

/** The new payload, by whichever way was chosen: single places, a file, standard input, or the editor. */
async function editedPayload(payload: unknown, options: EditOptions): Promise<unknown> {
  const { set = [], unset = [], file } = options;
  const places = set.length + unset.length;
  if (file === undefined) return places === 0 ? editInEditor(payload) : editPlaces(payload, set, unset);
  if (places > 0) throw new UsageError('--file gives the whole payload; leave out --set and --unset');
  if (file === '-') return parsePayload(await readInput('payload', options), 'standard input');
  const unreadable = failing(CLI_EXIT.noInput, (why) => `${file} cannot be read: ${why}`);
  return parsePayload(await readFile(file, 'utf8').catch(unreadable), file);
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
  // EDITOR may hold arguments, as git and crontab allow; the path is passed apart from it.
  const { status } = spawnSync('sh', ['-c', `${editor} "$1"`, 'millrace', path], { stdio: 'inherit' });
  if (status !== 0)
    throw new CliError(`the editor (${editor}) failed; nothing was changed, the text is at ${path}`);
  const edited = parsePayload(await readFile(path, 'utf8'), path);
  await rm(folder, { recursive: true, force: true });
  return edited;
}
