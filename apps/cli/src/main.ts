#!/usr/bin/env node
import 'reflect-metadata';
import { CommanderError } from 'commander';
import { ConfigError } from '#config';
import { EXIT, errorCode } from '#service';
import { CLI_EXIT, CliError } from './cli.errors.js';
import { createProgram } from './program.js';

// A reader that went away (`millrace … | head`) is not an error of ours.
process.stdout.on('error', (error) => {
  if (errorCode(error) === 'EPIPE') process.exit(EXIT.ok);
  throw error;
});

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`millrace: ${message}\n`);
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ConfigError) return EXIT.config;
  // Errors of our libs say what is wrong and how to mend it; anything else is a bug and shows where.
  if (errorCode(error) !== undefined) return CLI_EXIT.failed;
  if (error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return EXIT.internal;
}
