import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import {
  eventually,
  freePort,
  NotRunHere,
  sharedRedis,
  spawnApp,
  tempFolder,
  type Child,
  type TempFolder,
} from '#testing';

const FLEETS = ['batcher', 'outbox-publisher', 'analyzer', 'dlq-admin', 'worker'];
const APPS = ['producer', ...FLEETS];

/** What promtool finds wrong with names, types and texts. */
function complaintsAbout(metrics: string): string {
  const { error, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: metrics,
    encoding: 'utf8',
  });
  if (error) throw new NotRunHere('promtool is not installed (package prometheus)');
  return `${stdout}${stderr}`;
}

/** Every app as an orchestrator sees it: probes, signals, exit codes. */
describe.each(APPS)('%s', (app) => {
  let folder: TempFolder;
  const children: Child[] = [];

  beforeEach(async () => {
    folder = await tempFolder('app');
  });

  afterEach(async () => {
    for (const child of children.splice(0)) await child.end('SIGKILL');
    await folder.remove();
  });

  const environment = (): Record<string, string> => {
    const { url, prefix } = sharedRedis();
    return {
      REDIS_URL: url,
      REDIS_PREFIX: prefix,
      DATABASE_URL: `sqlite:${folder.path}/millrace.db`,
      OUTPUT_DIRECTORY: `${folder.path}/out`,
      TARGET_DIRECTORY: folder.path,
    };
  };

  const start = (env: Record<string, string>, args: string[] = []): Child => {
    const child = spawnApp(app, env, args);
    children.push(child);
    return child;
  };

  const probe = async (child: Child, kind: string): Promise<number> => {
    const { port } = await child.log({ msg: `${app} listening` });
    const response = await fetch(`http://127.0.0.1:${String(port)}/health/${kind}`);
    return response.status;
  };

  it('refuses a bad configuration with every fault at once and code 78', async () => {
    const child = start({
      ...environment(),
      PORT: 'x',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'mysql://u:hunter2@h/d',
    });
    expect(await child.exited).toEqual({ code: 78, signal: null });
    for (const key of ['PORT', 'LOG_LEVEL', 'DATABASE_URL'])
      expect(child.stderr).toContain(`  ${key}: found`);
    expect(child.stdout + child.stderr).not.toContain('hunter2');
  });

  it('refuses to guess where Redis and the database are, with code 78', async () => {
    const child = start({ TARGET_DIRECTORY: folder.path });
    expect(await child.exited).toEqual({ code: 78, signal: null });
    for (const key of ['REDIS_URL', 'DATABASE_URL']) expect(child.stderr).toContain(`  ${key}: missing`);
  });

  it('prints its configuration with secrets masked, and its help', async () => {
    const child = start({ ...environment(), REDIS_URL: 'redis://u:hunter2@127.0.0.1:1' }, ['--print-config']);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(JSON.parse(child.stdout)).toMatchObject({
      REDIS_URL: 'redis://******@127.0.0.1:1',
      SHUTDOWN_TIMEOUT_MS: 5000,
    });
    const help = start({}, ['--help']);
    expect(await help.exited).toEqual({ code: 0, signal: null });
    expect(help.stdout).toMatch(/Usage:[^]*REDIS_URL[^]*Exit codes/);
    const wrong = start({}, ['--wrong']);
    expect((await wrong.exited).code).toBe(64);
  });

  it('is alive and not ready while Redis is away, and ends in order when told', async () => {
    const child = start({ ...environment(), REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    await child.output('waiting for queues');
    expect(await probe(child, 'live')).toBe(200);
    expect(await probe(child, 'ready')).toBe(503);
    expect(await probe(child, 'startup')).toBe(503);
    expect(await child.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});

describe.each(FLEETS)('%s', (app) => {
  let folder: TempFolder;
  let child: Child | undefined;

  beforeEach(async () => {
    folder = await tempFolder('app');
  });

  afterEach(async () => {
    await child?.end('SIGKILL');
    await folder.remove();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'answers its probes, then ends with code 0 on %s, however often it comes',
    async (signal) => {
      const { url, prefix } = sharedRedis();
      child = spawnApp(app, {
        REDIS_URL: url,
        REDIS_PREFIX: prefix,
        DATABASE_URL: `sqlite:${folder.path}/millrace.db`,
        OUTPUT_DIRECTORY: `${folder.path}/out`,
        TARGET_DIRECTORY: folder.path,
        // dlq-admin shows its metrics to keys only.
        AUTH: 'off',
      });
      const { port } = await child.log({ msg: `${app} listening` });
      const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${String(port)}${path}`);
      await eventually(async () => expect((await get('/health/ready')).status).toBe(200));
      expect((await get('/health/live')).status).toBe(200);
      expect((await get('/health/startup')).status).toBe(200);
      const metrics = await (await get('/metrics')).text();
      expect(metrics).toContain('process_resident_memory_bytes');
      expect(metrics).toMatch(
        new RegExp(`^millrace_build_info\\{app="${app}",version="[\\d.]+",node="v[\\d.]+"\\} 1$`, 'm'),
      );
      if (app === 'dlq-admin') expect(metrics).toContain('millrace_files{state="pending"} 0');
      child.signal(signal);
      expect(await child.end(signal)).toEqual({ code: 0, signal: null });
      expect(child.logs().filter(({ msg }) => msg === 'shutdown complete')).toHaveLength(1);
      expect(complaintsAbout(metrics)).toBe('');
    },
  );
});
