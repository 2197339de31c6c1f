import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { coerce } from './coerce.js';
import {
  Choice,
  ConfigError,
  CrossRule,
  Flag,
  Int,
  List,
  loadConfig,
  loadSharedConfig,
  OPTIONAL,
  printable,
  RedisUrl,
  REQUIRED,
  Secret,
} from './index.js';

@CrossRule<Lock>(
  ['RENEWAL', 'LEASE'],
  'RENEWAL must be less than half of LEASE',
  (c) => c.RENEWAL < c.LEASE / 2,
)
class Lock {
  @Int('Lease in ms.', 30_000, [1_000])
  LEASE!: number;

  @Int('Renewal in ms.', 10_000, [0])
  RENEWAL!: number;
}

class Web {
  @Int('Where to listen.', 8080, [0, 65_535])
  PORT!: number;

  @RedisUrl('The broker.', REQUIRED)
  REDIS_URL!: string;

  @Secret('A password.', OPTIONAL)
  API_KEY?: string;

  @Choice('Loudness.', 'info', ['info', 'debug'])
  LOG_LEVEL!: string;

  @Flag('On or off.', false)
  VERBOSE!: boolean;

  @List('Many.', [])
  GLOBS!: string[];
}

const redis = { REDIS_URL: 'redis://user:hunter2@localhost:6379' };

function withFiles<T>(files: Record<string, string>, use: (cwd: string) => T): T {
  const cwd = mkdtempSync(join(tmpdir(), 'millrace-config-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
    return use(cwd);
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

const load = (env: Record<string, string>, files: Record<string, string> = {}) =>
  withFiles(files, (cwd) => loadConfig({ web: Web, lock: Lock }, { env, cwd }));

function faultsOf(env: Record<string, string>, files: Record<string, string> = {}): string[] {
  try {
    load(env, files);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.faults.map(({ key, found, origin, rule }) => `${key}|${found}|${origin}|${rule}`);
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('loads from both .env and a JSON file, and fills in defaults', () => {
    const config = load({}, { '.env': 'REDIS_URL=redis://a\n', 'config.json': '{"PORT": 9000}' });
    expect([config.web.REDIS_URL, config.web.PORT, config.web.LOG_LEVEL]).toEqual([
      'redis://a',
      9000,
      'info',
    ]);
  });

  it('prefers environment over .env over the JSON file over defaults', () => {
    const files = {
      '.env': 'PORT=2\nLOG_LEVEL=debug',
      'config.json': '{"PORT": 3, "LOG_LEVEL": "info", "LEASE": 50000}',
    };
    const { web, lock } = load({ ...redis, PORT: '1' }, files);
    expect([web.PORT, web.LOG_LEVEL, lock.LEASE, lock.RENEWAL]).toEqual([1, 'debug', 50_000, 10_000]);
  });

  it('turns texts into numbers, booleans and lists', () => {
    const { web } = load({ ...redis, VERBOSE: 'true', GLOBS: 'a, b,,c' });
    expect([web.VERBOSE, web.GLOBS]).toEqual([true, ['a', 'b', 'c']]);
  });

  it('throws when an essential value is missing, naming it and its meaning', () => {
    expect(faultsOf({})).toEqual(['REDIS_URL|undefined|none|must be given: The broker.']);
  });

  it('takes a list as JSON, or with commas between its items, those inside the braces of a glob apart', () => {
    const list = (text: string): unknown => coerce(text, 'list');
    expect(list('["a,b.txt", "*.{min.js,map}"]')).toEqual(['a,b.txt', '*.{min.js,map}']);
    expect(list('a, b ,')).toEqual(['a', 'b']);
    expect(list('*.{min.js,map},c')).toEqual(['*.{min.js,map}', 'c']);
    expect(list('[ab].txt,c')).toEqual(['[ab].txt', 'c']);
  });

  it('lists all faults of all groups at once, with key, value, source and rule', () => {
    const faults = faultsOf(
      { REDIS_URL: 'http://x', PORT: 'abc', LEASE: '1' },
      { 'config.json': '{"LOG_LEVEL": "loud"}' },
    );
    expect(faults).toEqual([
      expect.stringMatching(/^PORT\|"abc"\|environment\|.*/),
      expect.stringMatching(/^REDIS_URL\|"http:\/\/x"\|environment\|REDIS_URL must be redis:/),
      expect.stringMatching(/^LOG_LEVEL\|"loud"\|config.json\|.*info, debug/),
      expect.stringMatching(/^LEASE\|1\|environment\|.*1000/),
    ]);
  });

  it('refuses a combination that breaks a rule over several keys', () => {
    expect(faultsOf({ ...redis, RENEWAL: '20000' })).toEqual([
      'RENEWAL|20000|environment|RENEWAL must be less than half of LEASE',
      'LEASE|30000|default|RENEWAL must be less than half of LEASE',
    ]);
  });

  it('refuses an unknown key of the JSON file and suggests the nearest known one', () => {
    expect(faultsOf(redis, { 'config.json': '{"LOG_LEVL": "info", "ZZZZZZZZZZZZ": 1}' })).toEqual([
      'LOG_LEVL|an unknown key|config.json|did you mean LOG_LEVEL?',
      expect.stringContaining('ZZZZZZZZZZZZ|an unknown key|config.json|remove it'),
    ]);
  });

  it('takes the keys of the apps that share the JSON file, and asks for them only when it holds one', async () => {
    const loadShared = (json: object): Promise<{ web: Web }> =>
      withFiles({ 'config.json': JSON.stringify(json) }, (cwd) =>
        loadSharedConfig({ web: Web }, { env: redis, cwd }, apps),
      );
    let asked = 0;
    const apps = { lock: async () => (asked++, { lock: Lock }), web: async () => ({ web: Web }) };
    expect((await loadShared({ PORT: 1 })).web.PORT).toBe(1);
    expect(asked).toBe(0);
    expect((await loadShared({ PORT: 2, LEASE: 'not ours to check' })).web.PORT).toBe(2);
    expect(asked).toBe(1);
    await expect(loadShared({ LEASSE: 1 })).rejects.toThrow(/LEASSE: found an unknown key .*LEASE\?/);
  });

  it('masks secrets in faults', () => {
    const faults = faultsOf(
      { REDIS_URL: 'http://user:hunter2@x', API_KEY: 's3cret' },
      { 'config.json': '{"API_KEY": 7}' },
    );
    expect(faults.join()).not.toMatch(/hunter2|s3cret/);
    expect(faults).toHaveLength(1);
  });

  it('masks secrets in what --print-config shows', () => {
    const config = load({ ...redis, API_KEY: 's3cret' });
    const shown = printable({ web: Web, lock: Lock }, config);
    expect([shown.REDIS_URL, shown.API_KEY, shown.PORT]).toEqual([
      'redis://******@localhost:6379',
      '******',
      8080,
    ]);
  });

  it('reads a secret from the file that <KEY>_FILE names', () => {
    withFiles({ key: 's3cret\n' }, (cwd) => {
      const env = { ...redis, API_KEY_FILE: join(cwd, 'key') };
      expect(loadConfig({ web: Web }, { env, cwd }).web.API_KEY).toBe('s3cret');
    });
    expect(faultsOf({ ...redis, API_KEY_FILE: '/nowhere' })[0]).toMatch(
      /^API_KEY_FILE\|\/nowhere\|.*must be a readable file/,
    );
  });

  it('treats an empty value as not set', () => {
    expect(load({ ...redis, PORT: '' }).web.PORT).toBe(8080);
  });

  it('names a CONFIG_FILE that is not there, and one that is not JSON', () => {
    expect(faultsOf({ ...redis, CONFIG_FILE: 'nowhere.json' })[0]).toMatch(
      /^CONFIG_FILE\|.*nowhere\.json\|.*must be a readable file/,
    );
    expect(faultsOf(redis, { 'config.json': '{' })[0]).toMatch(
      /^CONFIG_FILE\|config\.json\|config\.json\|must be JSON/,
    );
    expect(faultsOf(redis, { 'config.json': '[1]' })[0]).toMatch(/must hold one JSON object/);
  });

  it('never takes a value from the prototype of the JSON file', () => {
    expect(faultsOf({}, { 'config.json': '{"__proto__": {"REDIS_URL": "redis://x"}}' }).join()).toMatch(
      /REDIS_URL\|undefined/,
    );
  });

  it('lets a subclass give a key another default', () => {
    class Impatient extends Lock {
      @Int('Lease in ms.', 60_000, [1_000])
      declare LEASE: number;
    }
    expect(loadConfig({ lock: Impatient }, { env: {}, cwd: tmpdir() }).lock.LEASE).toBe(60_000);
  });
});
