import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError, environment, loadSharedConfig, settingNames } from '#config';
import type { ConfigGroups, Configuration } from '#config';
import { apps } from '../../configurations.js';

type Variables = Readonly<Record<string, string | undefined>>;

const OURS = 'MILLRACE_';
const FILE = 'millrace.json';

/** Our image says so: there the settings have the names that services use, and come from where theirs come from. */
export function inContainer(): boolean {
  return environment().MILLRACE_ENVIRONMENT === 'container';
}

/**
 * The settings that are clearly meant for us: `MILLRACE_<KEY>` and `millrace.json`. The directory that is worked on is
 * often a project with a `.env`, a `config.json` or a DATABASE_URL of its own; those are none of our business.
 */
export async function ownSettings(variables: Variables = environment()): Promise<Record<string, string>> {
  const known = await knownKeys();
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables)) {
    const key = known.has(name) ? name : name.slice(OURS.length);
    if (!name.startsWith(OURS) || !value || !known.has(key)) continue;
    own[key] = key.endsWith('_FILE') ? resolve(value) : value;
  }
  const named = variables[`${OURS}CONFIG_FILE`];
  if (named) own.CONFIG_FILE = resolve(named);
  else if (existsSync(FILE)) own.CONFIG_FILE = resolve(FILE);
  return own;
}

/** What an app that a command starts finds in its environment: the caller's, but of settings only our own. */
export async function childEnvironment(): Promise<Variables> {
  if (inContainer()) return environment();
  const known = await knownKeys();
  const strange = Object.entries(environment()).filter(
    ([name]) => !known.has(name) && name !== 'CONFIG_FILE' && !name.startsWith(OURS),
  );
  return { ...Object.fromEntries(strange), ...(await ownSettings()) };
}

/** The configuration of a command, with every fault under the name that its user gave. */
export async function commandConfig<G extends ConfigGroups>(groups: G): Promise<Configuration<G>> {
  if (inContainer()) return loadSharedConfig(groups, { env: environment(), cwd: process.cwd() }, apps);
  try {
    // Nothing is read from this program's own folder: `.env` and `config.json` are not for laptops.
    return await loadSharedConfig(groups, { env: await ownSettings(), cwd: import.meta.dirname }, apps);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(
      error.faults.map((fault) =>
        fault.origin === 'environment' ? { ...fault, key: `${OURS}${fault.key}` } : fault,
      ),
    );
  }
}

let keys: Promise<ReadonlySet<string>> | undefined;

/** The keys of every app, and the names of files that hold one that is secret. */
function knownKeys(): Promise<ReadonlySet<string>> {
  keys ??= Promise.all(Object.values(apps).map((load) => load())).then((all) => new Set(settingNames(all)));
  return keys;
}
