import { constants, existsSync } from 'node:fs';
import { access, lstat, mkdtemp, open, readFile, realpath, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { folderDestination, httpDestination, type Destination } from '#contracts';
import type { FormatName } from '#envelope';
import { ENCODINGS } from '#tokens';
import { CLI_EXIT, CliError, failing, UsageError } from '../cli.errors.js';
import { whole } from '../command.js';
import type { GlobalOptions } from '../settings.js';

// A worker holds some hundred files at rest, and those that its threads read.
const OPEN_FILES = 256;

export interface RunOptions extends GlobalOptions {
  out: string;
  format: FormatName;
  maxTokens?: string;
  encoding?: string;
  include?: string[];
  exclude?: string[];
  workers: string;
  separate?: boolean;
  url?: string;
  keep?: boolean;
  dryRun?: boolean;
  fresh?: boolean;
  retryFailed?: boolean;
  allowMassRemoval?: boolean;
  report?: string;
  patience?: string;
}

/** A run that was asked for, checked. */
export interface RunRequest extends RunOptions {
  directory: string;
  destination: Destination;
  batchers: number;
  /** Each role in a process of its own, as when deployed; else one process holds them all. */
  separate: boolean;
  /** How long something that is away may keep the run from moving. */
  patienceMs: number;
}

/** Checks everything that can be checked before anything is started, each fault under the name of its option. */
export async function checkRequest(directory: string, options: RunOptions): Promise<RunRequest> {
  requireGiven(options);
  const batchers = whole('--workers', 1, 64)(options.workers);
  const patienceMs = 1_000 * whole('--patience', 1, 604_800)(options.patience ?? '300');
  if (options.maxTokens !== undefined) whole('--max-tokens', 1_000, 1_000_000_000)(options.maxTokens);
  const { encoding } = options;
  if (encoding !== undefined && !(ENCODINGS as readonly string[]).includes(encoding))
    throw new UsageError(`--encoding: found "${encoding}", allowed is one of ${ENCODINGS.join(', ')}`);
  if (options.url !== undefined) requirePostable(options.url);
  await requireOpenFiles();
  const root = await readableDirectory(directory);
  const out = resolve(options.out);
  requireApart('--out', out, root);
  if (options.data) requireApart('--data', resolve(options.data), root);
  if (options.report) await requireWritable('--report', resolve(options.report), true);
  const destination = options.url ? httpDestination(options.url) : folderDestination(out, options.format);
  const separate = options.separate === true || batchers > 1;
  return { ...options, directory: root, out, destination, batchers, separate, patienceMs };
}

/** Makes sure that batches can be written, without making the folder yet. */
export async function requireOutput({ out, url, dryRun }: RunRequest): Promise<void> {
  if (!url && !dryRun) await requireWritable('--out', await nearestThere(out), false);
}

/** The path itself, or the closest one above it that is there. A link that leads nowhere is there, and is no folder. */
export async function nearestThere(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined);
  return found || dirname(path) === path ? path : nearestThere(dirname(path));
}

/** Whether a path lies inside a folder. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
}

/** What a script takes from a variable that is not set is no value. */
function requireGiven(options: RunOptions): void {
  for (const [name, value] of Object.entries(options) as [string, unknown][])
    if (value === '' || (Array.isArray(value) && value.includes('')))
      throw new UsageError(
        `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}: found "", which is no value; give one, or leave the option out`,
      );
}

function requirePostable(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(
      `--url: found "${text}", allowed is an address that begins with http:// or https://`,
    );
  if (url.username || url.password)
    throw new UsageError(
      '--url: credentials in an address are not sent; put them into MILLRACE_ANALYZER_AUTHORIZATION, such as "Basic …"',
    );
}

/** A folder of ours that holds the tree, or is the tree, would feed on itself or leave everything out. */
function requireApart(option: string, folder: string, root: string): void {
  if (folder !== root && !isInside(root, folder)) return;
  throw new UsageError(
    `${option}: ${folder} ${folder === root ? 'is the directory itself' : 'holds the directory'}; what is written there ` +
      'would mix with sources, choose another folder',
  );
}

/** Only an attempt tells: there are file systems that say yes and make nothing. */
async function requireWritable(option: string, path: string, isFile: boolean): Promise<void> {
  const attempt = async (): Promise<void> => {
    if (isFile && existsSync(path)) await (await open(path, 'a')).close();
    else await rmdir(await mkdtemp(join(isFile ? dirname(path) : path, '.millrace-')));
  };
  const unwritable = (why: string): string =>
    `${option}: ${path} cannot be written (${why}); choose another place, or give yourself the right to it`;
  await attempt().catch(failing(CLI_EXIT.cannotCreate, unwritable));
}

async function readableDirectory(directory: string): Promise<string> {
  const unknown = (why: string, code?: string): string =>
    code === 'ENOENT'
      ? `${directory} does not exist; give the directory to work on`
      : `${directory} cannot be looked at: ${why}`;
  const found = await stat(directory).catch(failing(CLI_EXIT.noInput, unknown));
  if (!found.isDirectory())
    throw new CliError(`${directory} is not a directory; give the folder that holds it`, CLI_EXIT.noInput);
  const path = await realpath(directory);
  const unreadable = (why: string): string =>
    `${path} cannot be read (${why}); give its user read and execute permission`;
  await access(path, constants.R_OK | constants.X_OK).catch(failing(CLI_EXIT.noInput, unreadable));
  return path;
}

/** With too few open files, processes end at random places. Node has raised the limit as far as it may before this is asked. */
export async function requireOpenFiles(): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const allowed = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (allowed === undefined || Number(allowed) >= OPEN_FILES) return;
  throw new CliError(
    `this shell allows ${allowed} open files a process, and a run needs ${OPEN_FILES}; raise it: ulimit -n 4096`,
    CLI_EXIT.unavailable,
  );
}
