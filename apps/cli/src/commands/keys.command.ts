import { Option, type Command } from 'commander';
import type { Database } from '#database';
import { ROLES, type KeyView, type NewKey, type NewKeyRequest, type Role } from '#dlq-client';
import { cliConfig } from '../cli.config.js';
import { addConnectionOptions, withDlqAdmin, type ConnectionOptions } from '../dlq/connection.js';
import type { LocalKeys } from '../keys/local-keys.js';
import { json, plain, short, table, time } from '../output/table.js';
import { addExitCodes } from '../output/exit-codes.js';
import { wholeNumber } from '../output/whole-number.js';
import { migratedDatabase, placesOf, withDatabase } from '../settings.js';

interface KeysOptions extends ConnectionOptions {
  local?: boolean;
}

interface CreateOptions extends KeysOptions {
  role: Role;
  name: string;
  queues?: string[];
  expiresDays?: number;
  replaces?: string;
  overlapHours?: number;
}

const HELP = `
Examples:
  millrace keys create --role admin --name me       the first key, straight into the database
  millrace keys create --role viewer --queues file-analysis-queue --expires-days 30 --url https://dlq.example
  millrace keys create --role operator --replaces 0123456789ab    a successor; the old one works for a day more
  (umask 077; millrace keys create --role operator > ~/.millrace-key)

Works on the database (MILLRACE_DATABASE_URL, else --data) unless --url or MILLRACE_DLQ_ADMIN_URL names a dlq-admin, which then needs an
admin's key.`;

const EXIT_CODES = `0 done, 5 the key is missing or not an admin's, 64 wrong usage, 66 there is no such key or no
database, 69 dlq-admin does not answer`;

export function addKeys(program: Command): void {
  const keys = addConnectionOptions(
    program
      .command('keys')
      .summary('make, list and end API keys of dlq-admin')
      .description('API keys of dlq-admin. Only their hashes are stored; a key is printed once.')
      .configureHelp({ showGlobalOptions: true })
      .option('--local', 'work on the database although MILLRACE_DLQ_ADMIN_URL is set')
      .addHelpText('after', HELP),
  );
  addCreate(keys);
  keys
    .command('list')
    .summary('every key, newest first')
    .action((_: unknown, command: Command) => list(command.optsWithGlobals<KeysOptions>()));
  keys
    .command('revoke')
    .summary('end a key and every session begun with it')
    .argument('<id>', 'the id of the key, its part after mr_')
    .action((id: string, _: unknown, command: Command) => revoke(id, command.optsWithGlobals<KeysOptions>()));
  addExitCodes(keys, EXIT_CODES);
}

function addCreate(keys: Command): void {
  const whole = (option: string, least: number, most: number) => (text: string) =>
    wholeNumber(option, text, least, most);
  keys
    .command('create')
    .summary('make a key and print it, once')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .option('--name <name>', 'whose it is, for the audit log', 'unnamed')
    .option('--queues <names>', 'the only queues it may see, with commas', (text) => text.split(','))
    .option('--expires-days <n>', 'days until it ends; never unless given', whole('--expires-days', 1, 3_650))
    .option('--replaces <id>', 'the key that it takes over from')
    .option('--overlap-hours <n>', 'how long that one goes on working', whole('--overlap-hours', 0, 720), 24)
    .action((_: unknown, command: Command) => create(command.optsWithGlobals<CreateOptions>()));
}

async function create(options: CreateOptions): Promise<void> {
  const request = requestOf(options);
  const made: NewKey = (await isRemote(options))
    ? await withDlqAdmin(options, (client) => client.createKey(request))
    : await createLocally(request, options);
  if (options.output === 'json') return void process.stdout.write(json(made));
  process.stderr.write(`Key ${made.id} (${made.role}) is shown once and cannot be read again:\n`);
  process.stdout.write(`${made.key}\n`);
}

function requestOf({
  name,
  role,
  queues,
  expiresDays,
  replaces,
  overlapHours,
}: CreateOptions): NewKeyRequest {
  return {
    name,
    role,
    ...(queues && { queues }),
    ...(expiresDays !== undefined && { expiresInDays: expiresDays }),
    ...(replaces !== undefined && { replaces, overlapHours }),
  };
}

/** The first key comes before the first start of anything else, so the database may be new. */
async function createLocally(request: NewKeyRequest, options: KeysOptions): Promise<NewKey> {
  const places = await placesOf(options);
  if (places.databaseUrl === places.data.databaseUrl) await places.data.create();
  return migratedDatabase(places, async (database) => (await localKeys(database)).create(request));
}

async function list(options: KeysOptions): Promise<void> {
  const keys: KeyView[] = (await isRemote(options))
    ? (await withDlqAdmin(options, (client) => client.keys())).items
    : await withDatabase(await placesOf(options), async (database) => (await localKeys(database)).list());
  process.stdout.write(options.output === 'json' ? json(keys) : table(HEADER, keys.map(keyRow)));
}

async function revoke(id: string, options: KeysOptions): Promise<void> {
  const ended: KeyView = (await isRemote(options))
    ? await withDlqAdmin(options, (client) => client.revokeKey(id))
    : await withDatabase(await placesOf(options), async (database) => (await localKeys(database)).revoke(id));
  process.stdout.write(
    options.output === 'json' ? json(ended) : `key ${plain(ended.id)} ended ${time(ended.revokedAt)}\n`,
  );
}

async function localKeys(database: Database): Promise<LocalKeys> {
  const { LocalKeys } = await import('../keys/local-keys.js');
  return new LocalKeys(database, (await cliConfig()).AUDIT_KEY);
}

async function isRemote({ url, local }: KeysOptions): Promise<boolean> {
  return !local && (url ?? (await cliConfig()).DLQ_ADMIN_URL) !== undefined;
}

const HEADER = ['KEY', 'ROLE', 'STATE', 'NAME', 'QUEUES', 'CREATED', 'EXPIRES', 'LAST USED'];

function keyRow(key: KeyView): string[] {
  return [
    key.id,
    key.role,
    stateOf(key),
    short(key.name, 40),
    short(key.queues?.join(',') ?? 'all', 40),
    time(key.createdAt),
    time(key.expiresAt),
    time(key.lastUsedAt),
  ];
}

function stateOf({ revokedAt, expiresAt }: KeyView): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= Date.now() ? 'expired' : 'usable';
}
