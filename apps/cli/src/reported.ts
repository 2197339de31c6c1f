import { CommanderError } from 'commander';
import { ConfigError } from '#config';
import { EXIT, errorCode, isRefusal } from '#service';
import { paint } from './output/colour.js';
import { CLI_EXIT, CliError } from './cli.errors.js';

/** Says on standard error what a command ended with, and returns its exit code. */
export function reported(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${paint('red', 'millrace:', process.stderr)} ${message}\n`);
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ConfigError || isRefusal(error)) return EXIT.config;
  if (errorCode(error) === 'DATABASE_UNAVAILABLE') return EXIT.unavailable;
  // Errors of our libs say what is wrong and how to mend it; anything else is a bug and shows where.
  if (errorCode(error) !== undefined) return CLI_EXIT.failed;
  if (error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return EXIT.internal;
}
