#!/usr/bin/env node
import 'reflect-metadata';
import { EXIT, errorCode, mapStacks } from '#service';
import { createProgram } from './program.js';
import { reported } from './cli.errors.js';

mapStacks();

// A reader that went away (`millrace … | head`) is not an error of ours.
process.stdout.on('error', (error) => {
  if (errorCode(error) === 'EPIPE') process.exit(EXIT.ok);
  throw error;
});

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = reported(error);
}
