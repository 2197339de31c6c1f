import type { Command } from 'commander';
import { CLI_EXIT } from '../cli.errors.js';
import { json } from '../output/table.js';
import { placesOf, type GlobalOptions } from '../settings.js';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .argument('[directory]', 'a directory that you want to run on')
    .summary('what is there for a run and what is missing, with the cure')
    .description(
      `Looks at Node, Redis, the database, permissions, free disk and the limit of open files, and changes nothing.
Exit codes: 0 nothing is missing, 69 something is.`,
    )
    .addHelpText('after', '\nExamples:\n  millrace doctor\n  millrace doctor ./texts -o json')
    .action(async (directory: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { diagnose, doctorReport } = await import('../doctor/doctor.js');
      const findings = await diagnose({ places: await placesOf(options), directory });
      process.stdout.write(options.output === 'json' ? json(findings) : doctorReport(findings));
      if (findings.some(({ ok }) => !ok)) process.exitCode = CLI_EXIT.unavailable;
    });
}
