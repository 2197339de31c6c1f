import type { Command } from 'commander';
import { addExitCodes } from '../command.js';
import { addConnectionOptions } from '../dlq/connection.js';
import { addChanges } from './dlq/change.command.js';
import { addEdit } from './dlq/edit.command.js';
import { addGroups } from './dlq/groups.command.js';
import { addLetters } from './dlq/letters.command.js';
import { addOverview } from './dlq/overview.command.js';
import { addRecords } from './dlq/records.command.js';

const HELP = `
Examples:
  millrace dlq groups                                   the causes, largest first
  millrace dlq requeue --group 1f0c… --dry-run          what a requeue would do
  millrace dlq requeue --group 1f0c… --canary --rps 50  small steps first, stops when they fail again
  millrace dlq group 1f0c --owner ada --mute 8h         who looks after it; no alert until then
  millrace dlq edit 42 --set user.id=7 --requeue        fix one payload and try it
  millrace dlq list --text timeout -o json | jq -r '.[].id' | millrace dlq discard -

The API key comes from MILLRACE_DLQ_API_KEY, --key-file or --key-stdin, never from an argument, which others could see.`;

const EXIT_CODES = `0 done, 1 nothing matches, 3 some were skipped, refused or failed again, 5 the key is missing or its role
            does not suffice, 64 wrong usage, 66 there is no such letter, 69 dlq-admin does not answer, 78 invalid
            configuration, 130 stopped by Ctrl-C or answered with no`;

export function addDlq(program: Command): void {
  const dlq = addConnectionOptions(
    program
      .command('dlq')
      .summary('look at dead letters, fix them, and requeue them')
      .description('Dead letters by the REST interface of dlq-admin.')
      .configureHelp({ showGlobalOptions: true })
      .addHelpText('after', HELP),
  );
  for (const add of [addOverview, addGroups, addLetters, addChanges, addEdit, addRecords]) add(dlq);
  addExitCodes(dlq, EXIT_CODES);
}
