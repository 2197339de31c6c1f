import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { DlqClient, DlqProblemError, DlqUnreachableError, type Page, type Problem } from '#dlq-client';
import { cliConfig } from '../cli.config.js';
import { CLI_EXIT, CliError, failing, UsageError } from '../cli.errors.js';
import { acting, print } from '../command.js';
import { addPagingOptions, printPages, type PagingOptions } from '../output/paged.js';
import { plain, type Columns } from '../output/table.js';
import { DataDirectory } from '../fleet/data-directory.js';
import { pipelineName, placesOf, type GlobalOptions, type Places } from '../settings.js';

export interface ConnectionOptions extends GlobalOptions {
  url?: string;
  keyFile?: string;
  keyStdin?: boolean;
  /** Of commands that leave one. */
  note?: string;
}

const MAX_KEY = 512;

export function addConnectionOptions(command: Command): Command {
  return command
    .option('--url <address>', 'where dlq-admin is (MILLRACE_DLQ_ADMIN_URL; else the run that is kept up)')
    .option(
      '--key-file <path>',
      'file that holds the API key, readable by you alone (or set MILLRACE_DLQ_API_KEY)',
    )
    .option('--key-stdin', 'read the API key from standard input');
}

export const NOTE = ['--note <text>', 'why; kept in the audit log'] as const;

/** The action of a command that asks dlq-admin and prints its answer. */
export function asking<
  Answer,
  Options extends ConnectionOptions = ConnectionOptions,
  Given extends unknown[] = string[],
>(
  ask: (client: DlqClient, options: Options, ...given: Given) => Promise<Answer>,
  report: (answer: Answer) => string,
) {
  return acting(async (options: Options, ...given: Given) =>
    print(options, await withDlqAdmin(options, (client) => ask(client, options, ...given)), report),
  );
}

/** Makes a command list what dlq-admin tells page by page. */
export function addListing<Options extends ConnectionOptions & PagingOptions, Item>(
  command: Command,
  fetch: (client: DlqClient, page: { limit: number }, options: Options) => Promise<Page<Item>>,
  columns: Columns<Item>,
): void {
  addPagingOptions(command).action(
    acting((options: Options) =>
      withDlqAdmin(options, (client) => printPages(options, (page) => fetch(client, page, options), columns)),
    ),
  );
}

/** Calls dlq-admin; whatever it refuses becomes a sentence and an exit code. */
export async function withDlqAdmin<T>(
  options: ConnectionOptions,
  use: (client: DlqClient, url: string) => Promise<T>,
): Promise<T> {
  const { DLQ_ADMIN_URL, DLQ_API_KEY } = await cliConfig();
  const named = options.url ?? DLQ_ADMIN_URL;
  // The key of a run is for its own dlq-admin: it goes to no other address.
  const own = named === undefined ? await placesOf(options) : undefined;
  const url = checkedUrl(named ?? own?.adminUrl);
  const key = await keyOf(options, DLQ_API_KEY ?? own?.adminKey);
  if (key && url.protocol === 'http:' && !/^(localhost|\[::1\]|127\..*)$/.test(url.hostname))
    process.stderr.write(`The key travels to ${url.host} in clear text; https would hide it.\n`);
  try {
    const client = new DlqClient({ url: url.origin, key });
    await recognise(client, options, own);
    return await use(client, url.origin);
  } catch (error) {
    if (error instanceof DlqUnreachableError) throw new CliError(error.message, CLI_EXIT.unavailable, error);
    if (!(error instanceof DlqProblemError)) throw error;
    throw new CliError(sentence(error.problem), exitCodeOf(error.problem.status), error);
  }
}

/** Asks dlq-admin whose letters it shows: one that serves another pipeline than that of --data is a stranger. */
async function recognise(client: DlqClient, { data }: ConnectionOptions, own?: Places): Promise<void> {
  const { id, destination } = await client.pipeline();
  const card = await (own?.data ?? (data === undefined ? undefined : new DataDirectory(data)))?.card();
  if (card && card.id !== id)
    throw new CliError(
      `the dlq-admin that answers serves ${pipelineName(id, destination ?? undefined)}, not ${pipelineName(card.id, card.destination)}; ` +
        'start the right one with `millrace run … --keep`, or name it with --url and leave out --data',
      CLI_EXIT.refused,
    );
  process.stderr.write(`${plain(pipelineName(id, destination ?? undefined))}\n`);
}

function checkedUrl(address: string | undefined): URL {
  if (address === undefined)
    throw new CliError(
      'no dlq-admin runs for this pipeline; run the same `millrace run …` with --keep, or name one with --url or MILLRACE_DLQ_ADMIN_URL',
      CLI_EXIT.unavailable,
    );
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url;
  throw new UsageError(
    'the address of dlq-admin must look like http://host:port; a key goes into MILLRACE_DLQ_API_KEY, --key-file or --key-stdin',
  );
}

// The words come from elsewhere, perhaps from a proxy in between.
function sentence({ status, detail, errors = [] }: Problem): string {
  const faults = errors.filter(({ message }) => !detail.includes(message));
  const lines = [detail, ...faults.map(({ path, message }) => `  ${path}: ${message}`)].map(plain).join('\n');
  return status === 401 ? `${lines} (set MILLRACE_DLQ_API_KEY, or use --key-file or --key-stdin)` : lines;
}

function exitCodeOf(status: number): number {
  if (status === 401 || status === 403) return CLI_EXIT.refused;
  if (status === 404) return CLI_EXIT.noInput;
  if (status === 409 || status === 412 || status === 422) return CLI_EXIT.someFailed;
  return status < 500 && status !== 429 ? CLI_EXIT.usage : CLI_EXIT.unavailable;
}

/** The key from the file or the stream that was named, else the configured one. Never from an argument: `ps` shows those. */
async function keyOf(
  { keyFile, keyStdin }: ConnectionOptions,
  configured: string | undefined,
): Promise<string | undefined> {
  if (keyFile !== undefined && keyStdin)
    throw new UsageError('--key-file and --key-stdin are two keys; give one');
  if (keyFile !== undefined) return checkedKey(await readKeyFile(keyFile), keyFile);
  return keyStdin ? checkedKey(await text(process.stdin), 'standard input') : configured;
}

/** What is given with `-`, unless the key comes that way. */
export function readInput(what: string, { keyStdin }: ConnectionOptions): Promise<string> {
  if (!keyStdin) return text(process.stdin);
  throw new UsageError(
    `standard input cannot hold both key and ${what}; use --key-file or MILLRACE_DLQ_API_KEY`,
  );
}

async function readKeyFile(path: string): Promise<string> {
  const unreadable = (why: string): string => `the key file ${path} cannot be read: ${why}`;
  const file = await open(path, 'r').catch(failing(CLI_EXIT.noInput, unreadable));
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new CliError(`the key file ${path} is not a file`, CLI_EXIT.noInput);
    if ((found.mode & 0o077) !== 0)
      throw new UsageError(
        `others may read the key file ${path} (mode ${(found.mode & 0o777).toString(8)}); make it yours alone: chmod 600 ${path}`,
      );
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_KEY + 2) });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

function checkedKey(given: string, origin: string): string {
  const key = given.trim();
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_KEY) return key;
  throw new UsageError(
    `there is no key in ${origin}; it must hold one key and nothing else, as \`millrace keys create\` printed it`,
  );
}
