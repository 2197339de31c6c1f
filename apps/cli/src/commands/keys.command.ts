import { Option, type Command } from 'commander';
import { ROLES, type DlqClient, type KeyView, type NewKeyRequest } from '#dlq-client';
import { cliConfig } from '../cli.config.js';
import { acting, print, whole } from '../command.js';
import { addConnectionOptions, withDlqAdmin, type ConnectionOptions } from '../dlq/connection.js';
import { plain, tableOf, time, type Columns } from '../output/table.js';
import { opened, placesOf, withDatabase } from '../settings.js';

type KeysOptions = ConnectionOptions & { local?: boolean };

type CreateOptions = KeysOptions & Omit<NewKeyRequest, 'expiresInDays'> & { expiresDays?: number };

const HELP = `
Examples:
  millrace keys create --role admin --name me       the first key, straight into the database
  millrace keys create --role viewer --queues file-analysis-queue --expires-days 30 --url https://dlq.example
  millrace keys create --role operator --replaces 0123456789ab    a successor; the old one works for a day more
  (umask 077; millrace keys create --role operator > ~/.millrace-key)

Works on the database (MILLRACE_DATABASE_URL, else --data) unless --url or MILLRACE_DLQ_ADMIN_URL names a dlq-admin, which then needs an
admin's key.`;

const EXIT_CODES = `
Exit codes: 0 done, 5 the key is missing or not an admin's, 64 wrong usage, 66 there is no such key or no
database, 69 dlq-admin does not answer`;

export function addKeys(program: Command): void {
  const keys = addConnectionOptions(
    program
      .command('keys')
      .summary('make, list and end API keys of dlq-admin')
      .description('API keys of dlq-admin. Only their hashes are stored; a key is printed once.')
      .configureHelp({ showGlobalOptions: true })
      .option('--local', 'work on the database although MILLRACE_DLQ_ADMIN_URL is set')
      .addHelpText('after', HELP)
      .addHelpText('afterAll', EXIT_CODES),
  );
  addCreate(keys);
  keys.command('list').summary('every key, newest first').action(acting(list));
  keys
    .command('revoke')
    .summary('end a key and every session begun with it')
    .argument('<id>', 'the id of the key, its part after mr_')
    .action(acting(revoke));
}

function addCreate(keys: Command): void {
  keys
    .command('create')
    .summary('make a key and print it, once')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .option('--name <name>', 'whose it is, for the audit log', 'unnamed')
    .option('--queues <names>', 'the only queues it may see, with commas', (text) => text.split(','))
    .option('--expires-days <n>', 'days until it ends; never unless given', whole('--expires-days', 1, 3_650))
    .option('--replaces <id>', 'the key that it takes over from')
    .option('--overlap-hours <n>', 'how long that one goes on working', whole('--overlap-hours', 0, 720), 24)
    .action(acting(create));
}

async function create(options: CreateOptions): Promise<void> {
  const { name, role, queues, expiresDays: expiresInDays, replaces } = options;
  const overlapHours = replaces === undefined ? undefined : options.overlapHours;
  const request = { name, role, queues, expiresInDays, replaces, overlapHours };
  const made = await withKeys(options, 'create', (keys) => keys.createKey(request));
  if (options.output !== 'json')
    process.stderr.write(`Key ${made.id} (${made.role}) is shown once and cannot be read again:\n`);
  print(options, made, ({ key }) => `${key}\n`);
}

async function list(options: KeysOptions): Promise<void> {
  const { items } = await withKeys(options, 'use', (keys) => keys.keys());
  print(options, items, (keys) => tableOf(keys, COLUMNS));
}

async function revoke(options: KeysOptions, id: string): Promise<void> {
  const ended = await withKeys(options, 'use', (keys) => keys.revokeKey(id));
  print(options, ended, ({ revokedAt }) => `key ${plain(ended.id)} ended ${time(revokedAt)}\n`);
}

/** The keys of a dlq-admin, or those in the database. The first is made before anything else, so the database may be new. */
async function withKeys<T>(
  options: KeysOptions,
  database: 'create' | 'use',
  use: (keys: Pick<DlqClient, 'keys' | 'createKey' | 'revokeKey'>) => Promise<T>,
): Promise<T> {
  const { DLQ_ADMIN_URL, AUDIT_KEY } = await cliConfig();
  if (!options.local && (options.url ?? DLQ_ADMIN_URL) !== undefined) return withDlqAdmin(options, use);
  const places = await placesOf(options);
  const { LocalKeys } = await import('../keys/local-keys.js');
  if (database === 'use') return withDatabase(places, (found) => use(new LocalKeys(found, AUDIT_KEY)));
  if (places.databaseUrl === places.data.databaseUrl) await places.data.create();
  return opened(places, 'run', (made) => use(new LocalKeys(made, AUDIT_KEY)));
}

const COLUMNS: Columns<KeyView> = {
  KEY: 'id',
  ROLE: 'role',
  STATE: stateOf,
  'NAME:40': 'name',
  'QUEUES:40': ({ queues }) => queues?.join(',') ?? 'all',
  CREATED: ({ createdAt }) => time(createdAt),
  EXPIRES: ({ expiresAt }) => time(expiresAt),
  'LAST USED': ({ lastUsedAt }) => time(lastUsedAt),
};

function stateOf({ revokedAt, expiresAt }: KeyView): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= Date.now() ? 'expired' : 'usable';
}
