import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError } from './errors.js';

export interface Source {
  /** What to call it in a message, such as `config.json`. */
  label: string;
  values: Readonly<Record<string, unknown>>;
  /** The file holds nothing but our keys; elsewhere there are others. */
  ours?: true;
}

export interface SourceOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Folder of `.env` and of a relative CONFIG_FILE. */
  cwd: string;
}

const DEFAULT_FILE = 'config.json';

/** Environment, then `.env`, then the JSON file named by CONFIG_FILE (`config.json` if there is one). */
export function readSources({ env, cwd }: SourceOptions): Source[] {
  const environment: Source = { label: 'environment', values: withoutEmpty(env) };
  const dotEnvPath = resolve(cwd, '.env');
  const given = existsSync(dotEnvPath) ? parseEnv(read(dotEnvPath, '.env')) : {};
  const dotEnv: Source = { label: '.env', values: withoutEmpty(given) };
  const named = environment.values.CONFIG_FILE ?? dotEnv.values.CONFIG_FILE;
  return [environment, dotEnv, readJson(cwd, named as string | undefined)];
}

/** The content of a secret's file, without the newline that editors and shells leave at its end. */
export function readSecret(key: string, path: string): string {
  return read(path, key).trimEnd();
}

// `KEY=` in a compose file means "not set", not "the empty text".
function withoutEmpty(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== ''),
  );
}

function readJson(cwd: string, named: string | undefined): Source {
  const label = named ?? DEFAULT_FILE;
  const path = resolve(cwd, label);
  if (!named && !existsSync(path)) return { label, values: {} };
  const values = parse(read(path, 'CONFIG_FILE'), label);
  if (typeof values === 'object' && values !== null && !Array.isArray(values))
    return { label, values: values as Record<string, unknown>, ours: true };
  throw fileFault(label, 'must hold one JSON object of keys and values');
}

function read(path: string, key: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const rule = `must be a readable file (${(error as Error).message})`;
    throw new ConfigError([{ key, found: path, origin: 'environment', rule }]);
  }
}

function parse(text: string, label: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw fileFault(label, `must be JSON (${(error as Error).message})`);
  }
}

function fileFault(label: string, rule: string): ConfigError {
  return new ConfigError([{ key: 'CONFIG_FILE', found: label, origin: label, rule }]);
}
