import type { Command } from 'commander';

/** Tells the exit codes in the help of a command and of each of its subcommands. */
export function addExitCodes(command: Command, codes: string): void {
  for (const one of [command, ...command.commands]) one.addHelpText('after', `\nExit codes: ${codes}`);
}
