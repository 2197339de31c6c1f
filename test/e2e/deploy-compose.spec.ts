import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { parseRedisUrl } from '#redis';
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

  it('runs every app but the command line', () => {
    const apps = ours.map(({ command }) => appOf(command)).sort();
    expect(apps).toEqual(
      Object.keys(GROUPS)
        .filter((app) => app !== 'cli')
        .sort(),
    );
  });

  it('tells each app only what it understands, and nothing that it refuses', () => {
    for (const service of ours) {
      const app = appOf(service.command);
      const env = environmentOf(service);
      const known = [...keysOfApp(app).all, ...NODE_KEYS];
      expect({ app, unknown: Object.keys(env).filter((key) => !known.includes(key)) }).toEqual({
        app,
        unknown: [],
      });
      const { ADMIN_KEY_FILE: _, ...values } = env;
      expect(settingsRead(app, values)).toEqual(Object.keys(GROUPS[app] as object));
    }
  });

  it('starts apps after stores that answer, and names only services and volumes that exist', () => {
    for (const { depends_on = {}, volumes: mounts = [] } of Object.values(services)) {
      expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(depends_on)));
      const named = mounts.map((mount) => mount.split(':')[0] ?? '').filter((name) => /^[a-z]/.test(name));
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(named));
    }
    for (const { depends_on } of ours)
      expect(depends_on).toMatchObject({
        redis: { condition: 'service_healthy' },
        postgres: { condition: 'service_healthy' },
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
    const target = parseRedisUrl(environmentOf(ours[0] as Service, given).REDIS_URL ?? '');
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

  it('keeps what is told to Redis the same with and without users', () => {
    const acl = yamlOf<Compose>('deploy/compose.acl.yml').services.redis?.command ?? [];
    for (const word of ['--appendonly', '--appendfsync', '--maxmemory-policy', '--save'])
      expect(acl[acl.indexOf(word) + 1]).toBe(
        services.redis?.command?.[services.redis.command.indexOf(word) + 1],
      );
    expect(acl).toContain('--aclfile');
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
    expect(of('FROM').at(-1)).toEqual(['${RUNTIME}']);
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
