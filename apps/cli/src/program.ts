import { Command, Option } from 'commander';
import { VERSION } from '#service';
import { allowColour } from './output/colour.js';
import { addCompletion } from './commands/completion.command.js';
import { addDlq } from './commands/dlq.command.js';
import { addDuplicates } from './commands/duplicates.command.js';
import { addExplain } from './commands/explain.command.js';
import { addKeys } from './commands/keys.command.js';
import { addPipeline } from './commands/pipeline.command.js';
import { addQueues } from './commands/queues.command.js';
import { addRun, addScan } from './commands/run.command.js';
import { addSetup } from './commands/setup.command.js';
import { addStatus } from './commands/status.command.js';
import { addVerify } from './commands/verify.command.js';

const COMMANDS = [
  ...[addRun, addScan, addStatus, addExplain, addVerify, addPipeline, addDuplicates],
  ...[addDlq, addQueues, addKeys, addSetup, addCompletion],
];

/** The commands of `millrace`; each file of `commands/` adds one. What is slow to load is loaded when it is used. */
export function createProgram(): Command {
  const program = new Command('millrace')
    .description(
      'Carries every file of a directory to your analysis in token-sized batches, and proves that none was lost.',
    )
    .version(VERSION)
    .option(
      '--data <folder>',
      'where the state of the pipeline is kept (default: a folder for each destination in .millrace)',
    )
    .addOption(
      new Option('-o, --output <format>', 'how results are printed')
        .choices(['table', 'json'])
        .default('table'),
    )
    .option('--no-color', 'print without colour; so do NO_COLOR and anything but a terminal')
    .hook('preAction', (_, command) => allowColour(command.optsWithGlobals<{ color: boolean }>().color))
    .showHelpAfterError('(add --help for how to use it)')
    .exitOverride();
  for (const add of COMMANDS) add(program);
  return program.addHelpText(
    'after',
    '\nExit codes: 0 done, 64 wrong usage; `millrace <command> --help` tells those of the command',
  );
}
