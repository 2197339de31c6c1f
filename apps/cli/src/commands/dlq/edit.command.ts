import type { Command } from 'commander';
import type { DlqClient, LetterDetail } from '#dlq-client';
import { CLI_EXIT, CliError } from '../../cli.errors.js';
import { acting, collected, print } from '../../command.js';
import { withDlqAdmin, type NoteOptions } from '../../dlq/connection.js';
import { differenceLines, differences } from '../../dlq/payload-edit.js';
import { editedPayload, type PayloadOptions } from '../../dlq/payload-source.js';
import { letterId } from './letters.command.js';

type EditOptions = NoteOptions & PayloadOptions & { dryRun?: boolean; requeue?: boolean };

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
