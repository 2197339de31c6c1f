import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseEnv } from 'node:util';
import { parseRedisUrl } from '#redis';
import { tempFolder, type TempFolder } from '#testing';
import {
  appOf,
  fileOf,
  GROUPS,
  settingsRead,
  heapMegabytes,
  keysOfApp,
  mebibytes,
  NODE_KEYS,
  textOf,
  yamlOf,
} from './deploy-files.js';

import { makeSecrets } from './deploy-secrets.js';

/** What is in the files that apps are told of. */
const SECRETS: Record<string, string> = {
  REDIS_URL_FILE: 'redis://app:made@redis:6379',
  DATABASE_URL_FILE: 'postgres://app:made@postgres:5432/millrace',
  ADMIN_KEY_FILE: 'made-at-the-first-start-for-admins',
};

/** REDIS_URL of each app as deploy/secrets.sh makes it. */
function urlsOf(env: Record<string, string>): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-secrets-'));
  try {
    makeSecrets(folder, env);
    return { batcher: readFileSync(join(folder, 'batcher/REDIS_URL'), 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Service {
  image: string;
  user?: string;
  command?: string[];
  environment?: Record<string, string>;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
  mem_limit?: string;
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  healthcheck?: { test?: string[]; disable?: boolean };
  profiles?: string[];
  ports?: string[];
}

interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
}

/** `${NAME:-default}` as compose reads it when nothing is set, or from the given variables. */
function interpolated(text: string, given: Record<string, string | undefined> = {}): string {
  return text.replaceAll(
    /\$\{(\w+):-([^}]*)\}/g,
    (_, name: string, fallback: string) => given[name] ?? fallback,
  );
}

function environmentOf(
  { environment = {} }: Service,
  given?: Record<string, string | undefined>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([key, value]) => [key, interpolated(value, given)]),
  );
}

describe('docker-compose.yml', () => {
  const { services, volumes } = yamlOf<Compose>('docker-compose.yml');
  const ours = Object.values(services).filter(({ image }) => image === 'millrace');
  // All but the command line for people.
  const fleet = ours.filter(({ profiles = [] }) => !profiles.includes('tools'));

  it('runs every app', () => {
    const apps = fleet.map(({ command }) => appOf(command)).sort();
    expect(apps).toEqual(Object.keys(GROUPS).sort());
  });

  it('tells each app only what it understands, and nothing that it refuses', () => {
    for (const service of fleet) {
      const app = appOf(service.command);
      const env = environmentOf(service);
      const known = [...keysOfApp(app).all, ...NODE_KEYS];
      expect({ app, unknown: Object.keys(env).filter((key) => !known.includes(key)) }).toEqual({
        app,
        unknown: [],
      });
      const values = Object.fromEntries(
        Object.entries(env).map(([key, value]) => [
          key.replace(/_FILE$/, ''),
          key.endsWith('_FILE') ? (SECRETS[key] ?? value) : value,
        ]),
      );
      expect(settingsRead(app, values)).toEqual(Object.keys(GROUPS[app] as object));
    }
  });

  it('starts apps after stores that answer, and names only services and volumes that exist', () => {
    for (const { depends_on = {}, volumes: mounts = [] } of Object.values(services)) {
      expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(depends_on)));
      const named = mounts.map((mount) => mount.split(':')[0] ?? '').filter((name) => /^[a-z]/.test(name));
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(named));
    }
    for (const { depends_on, command } of fleet)
      expect(depends_on).toEqual(
        appOf(command) === 'cli'
          ? { postgres: { condition: 'service_healthy' } }
          : {
              redis: { condition: 'service_healthy' },
              migrate: { condition: 'service_completed_successfully' },
            },
      );
    for (const store of ['redis', 'postgres'])
      expect(services[store]?.depends_on).toEqual({
        'first-start': { condition: 'service_completed_successfully' },
      });
  });

  it('gives no app a right that it does not need', () => {
    for (const service of ours) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect(interpolated(service.user ?? '')).toBe('65532:65532');
      const trees = (service.volumes ?? []).filter((mount) => interpolated(mount).includes(':/tree'));
      for (const tree of trees) expect(tree).toMatch(/:ro$/);
    }
    const published = Object.values(services).flatMap(({ ports = [] }) => ports);
    expect(published.map((port) => interpolated(port))).toEqual(['127.0.0.1:8080:8080']);
  });

  it('waits longer for an end than the end may take, and gives heaps three quarters of the memory', () => {
    for (const service of ours) {
      const env = environmentOf(service);
      const graceMs = Number.parseInt(service.stop_grace_period ?? '0', 10) * 1_000;
      expect(graceMs).toBeGreaterThanOrEqual(Number(env.SHUTDOWN_TIMEOUT_MS ?? 5_000) + 2_000);
      const share = heapMegabytes(env) / mebibytes(service.mem_limit ?? '');
      expect(share).toBeGreaterThanOrEqual(0.7);
      expect(share).toBeLessThanOrEqual(0.8);
    }
  });

  it('checks health with a program that is in the image', () => {
    for (const { healthcheck } of ours) {
      if (healthcheck?.disable) continue;
      const [, node, script = '', kind = ''] = healthcheck?.test ?? [];
      expect(node).toBe('/nodejs/bin/node');
      expect(textOf('deploy/Dockerfile')).toContain(`COPY ${script} ${script}`);
      expect(['live', 'ready', 'startup']).toContain(kind);
    }
  });

  it('pins a Redis whose known holes are closed, which never evicts', () => {
    for (const { image, command = [] } of Object.values(services).filter(({ image }) =>
      /^redis:/.test(image),
    )) {
      const [, major = 0, minor = 0, patch = 0] =
        /^redis:(\d+)\.(\d+)\.(\d+)-/.exec(image)?.map(Number) ?? [];
      expect(major * 10_000 + minor * 100 + patch).toBeGreaterThanOrEqual(80_603);
      if (command[0] === 'redis-server')
        expect(command[command.indexOf('--maxmemory-policy') + 1]).toBe('noeviction');
    }
  });

  it('leads the apps to the Sentinels of its profile', () => {
    const given = parseEnv(textOf('deploy/compose.sentinel.env'));
    const told = environmentOf(services['first-start'] as Service, given).REDIS_AT ?? '';
    const target = parseRedisUrl(urlsOf({ REDIS_AT: told }).batcher ?? '');
    expect(target).toMatchObject({ username: 'batcher' });
    if (target.kind !== 'sentinel') throw new Error(`leads to ${target.kind}`);
    const sentinels = Object.entries(services).filter(([, { command = [] }]) =>
      command.join('\n').includes('--sentinel'),
    );
    expect(target.sentinels.map(({ host }) => host)).toEqual(sentinels.map(([name]) => name));
    expect(sentinels).toHaveLength(3);
    for (const [, { command = [], profiles }] of sentinels) {
      expect(profiles).toEqual([given.COMPOSE_PROFILES]);
      expect(command.join('\n')).toContain(`sentinel monitor ${target.master} redis 6379 2`);
    }
    const replica = services['redis-replica']?.command?.join(' ');
    expect(replica).toContain('--replicaof redis 6379');
  });

  it('has no password in it: each part reads its own, made at the first start, from a volume that no other mounts', () => {
    expect(textOf('docker-compose.yml')).not.toMatch(/PASSWORD:|:\/\/\w+:\w+@/);
    const made = new Set((services['first-start']?.volumes ?? []).map((mount) => mount.split(':')[0] ?? ''));
    const holders = (volume: string): string[] =>
      Object.entries(services).flatMap(([name, { volumes: mounts = [] }]) =>
        name !== 'first-start' && mounts.some((mount) => mount.startsWith(`${volume}:`)) ? [name] : [],
      );
    for (const [name, service] of Object.entries(services).filter(([, { image }]) => image === 'millrace')) {
      expect(holders(`secrets-${name}`)).toEqual([name]);
      expect(made).toContain(`secrets-${name}`);
      expect(service.environment).toMatchObject({ DATABASE_URL_FILE: '/secrets/DATABASE_URL' });
      expect(service.volumes).toContain(`secrets-${name}:/secrets:ro`);
    }
    expect(holders('secrets')).toEqual([]);
    expect(holders('secrets-postgres')).toEqual(['postgres']);
    for (const name of holders('secrets-redis')) expect(services[name]?.image).toMatch(/^redis:/);
    for (const { command = [] } of [services.redis, services['redis-replica']] as Service[])
      expect(command.slice(0, 2)).toEqual(['redis-server', '/secrets/redis.conf']);
  });
});

describe('deploy/secrets.sh', () => {
  let folder: TempFolder;
  beforeAll(async () => {
    folder = await tempFolder('secrets');
  });
  afterAll(() => folder.remove());
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(folder.path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
        .map((path) => [relative(folder.path, path), readFileSync(path, 'utf8')]),
    );

  it('makes passwords that nobody could guess, one for each use, for nobody else to read, and keeps them', () => {
    makeSecrets(folder.path);
    const first = files();
    const passwords = Object.entries(first).filter(([name]) => name.startsWith('passwords/'));
    expect(passwords.length).toBeGreaterThan(15);
    expect(new Set(passwords.map(([, text]) => text)).size).toBe(passwords.length);
    for (const [, text] of passwords) expect(text).toMatch(/^[0-9a-f]{48}$/);
    for (const name of Object.keys(first)) expect(statSync(join(folder.path, name)).mode & 0o077).toBe(0);
    makeSecrets(folder.path);
    expect(files()).toEqual(first);
    makeSecrets(folder.path, { REDIS_AT: 'rediss://cache:6380' });
    expect(files()['analyzer/REDIS_URL']).toMatch(/^rediss:\/\/analyzer:[0-9a-f]{48}@cache:6380$/);
  });

  it('leaves no user of Redis without a password but the one that may only ping', () => {
    const users = files()['redis/users.acl']?.trim().split('\n') ?? [];
    expect(users.filter((line) => !/ on #[0-9a-f]{64} /.test(line))).toEqual([
      'user default off',
      'user probe on nopass resetchannels -@all +ping',
    ]);
  });
});

describe('deploy/Dockerfile', () => {
  const lines = textOf('deploy/Dockerfile').replaceAll('\\\n', ' ').split('\n');
  const ignored = textOf('.dockerignore').split('\n').filter(Boolean);
  const of = (word: string): string[][] =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.split(/\s+/).slice(1));

  it('copies only what is there and is not ignored', () => {
    const copied = of('COPY').filter(([first]) => !first?.startsWith('--from'));
    const sources = copied.flatMap((words) => words.slice(0, -1));
    expect(sources).toContain('package-lock.json');
    for (const source of sources) {
      expect({ source, exists: existsSync(fileOf(source)) }).toEqual({ source, exists: true });
      expect(ignored).not.toContain(source.split('/')[0]);
    }
  });

  it('says that its files are ES modules, and leaves out secrets, history and builds of this machine', () => {
    expect(of('COPY')).toContainEqual(['--from=build', '/app/package.json', './']);
    expect(ignored).toEqual(expect.arrayContaining(['.git', '.env', 'node_modules', 'dist', '.millrace']));
  });

  it('ends in an image without a shell, as a user that is not root, with a command that exists', () => {
    expect(of('ARG').flat()).toContain('RUNTIME=gcr.io/distroless/nodejs24-debian13:nonroot');
    expect(of('FROM')).toEqual([['${BUILD}', 'AS', 'build'], ['${RUNTIME}']]);
    // What runs is copied there: nothing is installed or built in it, and nothing of the build's tools comes along.
    const last = lines
      .slice(lines.lastIndexOf('FROM ${RUNTIME}') + 1)
      .filter((line) => /^[A-Z]+ /.test(line));
    expect(last.map((line) => line.split(' ')[0])).not.toContain('RUN');
    for (const word of ['CMD', 'HEALTHCHECK'])
      expect(last.find((line) => line.startsWith(word))).toMatch(/(^CMD|CMD) \["[^"]+"(, "[^"]+")*\]$/);
    expect(last.join('\n')).not.toMatch(/npm|\bsh\b|\.git\b|\.env\b/);
    expect(of('USER')).toEqual([['65532:65532']]);
    const command = JSON.parse(of('CMD')[0]?.join(' ') ?? '') as string[];
    expect(appOf(command)).toBe('cli');
  });

  it('sets only what the apps or Node understand', () => {
    // The cli itself reads where it runs, before any configuration.
    const known = [
      ...Object.keys(GROUPS).flatMap((app) => keysOfApp(app).all),
      ...NODE_KEYS,
      'MILLRACE_ENVIRONMENT',
    ];
    const set = of('ENV').flatMap((words) => words.map((word) => word.split('=')[0] ?? ''));
    expect(set).toContain('PORT');
    expect(known).toEqual(expect.arrayContaining(set));
  });
});
