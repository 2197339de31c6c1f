import { realpath, stat } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { FORMATS, type FormatName } from '#envelope';
import { errorCode } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import type { GlobalOptions } from '../settings.js';

export interface RunOptions extends GlobalOptions {
  out: string;
  format: FormatName;
  maxTokens?: string;
  encoding?: string;
  include?: string[];
  exclude?: string[];
  workers: string;
  url?: string;
  keep?: boolean;
  dryRun?: boolean;
  allowMassRemoval?: boolean;
  report?: string;
}

/** A run that was asked for, checked. */
export interface RunRequest {
  directory: string;
  out: string;
  options: RunOptions;
  batchers: number;
}

export async function checkRequest(directory: string, options: RunOptions): Promise<RunRequest> {
  const root = await readableDirectory(directory);
  const batchers = Number(options.workers);
  if (!Number.isInteger(batchers) || batchers < 1 || batchers > 64)
    throw new CliError(
      `--workers: found "${options.workers}", allowed is a whole number from 1 to 64`,
      CLI_EXIT.usage,
    );
  if (!FORMATS.includes(options.format))
    throw new CliError(
      `--format: found "${options.format}", allowed is one of ${FORMATS.join(', ')}`,
      CLI_EXIT.usage,
    );
  const out = resolve(options.out);
  if (out === root)
    throw new CliError(
      `--out is the directory itself (${root}); batches would mix with sources, choose another folder`,
      CLI_EXIT.usage,
    );
  return { directory: root, out, options, batchers };
}

/** Whether a path lies inside a folder. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
}

async function readableDirectory(directory: string): Promise<string> {
  const found = await stat(directory).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT')
      throw new CliError(
        `${directory} does not exist; give the directory to work on`,
        CLI_EXIT.noInput,
        error,
      );
    throw new CliError(
      `${directory} cannot be looked at: ${(error as Error).message}`,
      CLI_EXIT.noInput,
      error,
    );
  });
  if (!found.isDirectory())
    throw new CliError(`${directory} is not a directory; give the folder that holds it`, CLI_EXIT.noInput);
  const path = await realpath(directory);
  await import('node:fs/promises')
    .then(({ opendir }) => opendir(path))
    .then(
      (handle) => handle.close(),
      (error: unknown) => {
        throw new CliError(
          `${path} cannot be read (${(error as Error).message}); give its user read and execute permission`,
          CLI_EXIT.noInput,
          error,
        );
      },
    );
  return path;
}
