import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import pg from 'pg';
import { DATABASE_KINDS, eventually, testDatabase, type TestDatabase } from '#testing';
import { useRunRig } from '../e2e/run-rig.js';
import { withSource } from '../upgrades/schema-dump.js';

interface DeepProof {
  verdict: string;
  checks: { name: string; ok: boolean; rows: { file: string }[] }[];
}

describe.each(DATABASE_KINDS)(
  'a backup of a run in flight that is restored after later runs, on %s',
  (kind) => {
    const rig = useRunRig();
    const contentOf = (name: string): string => `${name} is a line of words\n`.repeat(90);
    const write = async (...names: string[]): Promise<void> => {
      for (const name of names) await writeFile(join(rig.tree, name), contentOf(name));
    };

    it('becomes PROVEN by the next run: what it knew keeps its ids, what was batched later is sent again', async () => {
      const target = await testDatabase(kind);
      const env = { MILLRACE_DATABASE_URL: target.url, CONFIRM_TIMEOUT_MS: '1000' };
      const args = ['-o', 'json', 'run', rig.tree, '--out', rig.out, '--max-tokens', '1000'];
      const run = async (): Promise<void> => {
        const { proof } = await rig.succeed(rig.millrace(args, env));
        expect(proof.verdict).toBe('proven');
      };
      const deep = async (): Promise<DeepProof> => {
        const child = rig.millrace(['-o', 'json', 'verify', '--deep'], env);
        await child.exited;
        return JSON.parse(child.stdout) as DeepProof;
      };
      try {
        await write('a', 'b');
        await run();
        const recorded = await sentFiles(rig.out);

        await write('c', 'd');
        const cut = rig.millrace(args, { ...env, MILLRACE_FAULT: 'analyzer.after-deliver:1:hang' });
        await eventually(async () => expect(await sentFiles(rig.out)).toHaveLength(4), { timeoutMs: 60_000 });
        const restore = await backUp(target, () => endAll(cut));
        await write('e', 'f');
        await run();
        const before = await sentFiles(rig.out);
        expect(before.map(([, file]) => file).sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);

        await restore();
        const verify = rig.millrace(['verify'], env);
        expect((await verify.exited).code).toBe(0);
        expect(verify.stdout).toContain('IN FLIGHT');
        await run();
        const after = await sentFiles(rig.out);
        expect(after).toEqual(expect.arrayContaining([...recorded, ...before]));
        expect(after.map(([, file]) => file).sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'e', 'f', 'f']);

        const { verdict, checks } = await deep();
        expect(verdict).toBe('violated');
        const broken = checks.filter(({ ok }) => !ok);
        expect(broken.map(({ name }) => name)).toEqual(['no-stray-batch']);
        const strays = broken.flatMap(({ rows }) => rows.map(({ file }) => file));
        expect(strays.map((file) => before.find(([name]) => name === basename(file))?.[1]).sort()).toEqual([
          'e',
          'f',
        ]);
        for (const file of strays) await rm(file);
        expect((await deep()).verdict).toBe('proven');
      } finally {
        await target.remove();
      }
    }, 240_000);

    async function endAll(run: { end(signal: 'SIGKILL'): Promise<unknown> }): Promise<void> {
      const others = await rig.processes();
      await run.end('SIGKILL');
      for (const { pid } of others) endIfThere(pid);
      await eventually(async () => expect(await rig.processes()).toEqual([]), { timeoutMs: 60_000 });
    }
  },
);

function endIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended with the command that had started it.
  }
}

/** The batch files of an output and the one file that each holds. */
async function sentFiles(out: string): Promise<[batch: string, file: string][]> {
  const names = (await readdir(out).catch(() => [])).filter((name) => name.startsWith('batch-'));
  const texts = await Promise.all(names.map((name) => readFile(join(out, name), 'utf8')));
  return texts.map((text, index) => [
    String(names[index]),
    /(\w) is a line of words/.exec(text)?.[1] ?? text,
  ]);
}

/** Takes a copy, ends the run, and gives what puts the copy back. SQLite is copied while it is written. */
async function backUp(
  { kind, url }: TestDatabase,
  endRun: () => Promise<void>,
): Promise<() => Promise<void>> {
  if (kind === 'sqlite') {
    const [path, copy] = [url.slice('sqlite:'.length), `${url.slice('sqlite:'.length)}.backup`];
    await withSource(url, (source) => source.query(`VACUUM INTO '${copy}'`));
    await endRun();
    return async () => {
      for (const suffix of ['-wal', '-shm']) await rm(`${path}${suffix}`, { force: true });
      await copyFile(copy, path);
    };
  }
  await endRun();
  const name = new URL(url).pathname.slice(1);
  const copy = `backup_${randomUUID().replaceAll('-', '')}`;
  await onServer(url, [`CREATE DATABASE ${copy} TEMPLATE ${name}`]);
  return () =>
    onServer(url, [`DROP DATABASE ${name} WITH (FORCE)`, `ALTER DATABASE ${copy} RENAME TO ${name}`]);
}

async function onServer(url: string, statements: readonly string[]): Promise<void> {
  const server = new URL(url);
  server.pathname = '/postgres';
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  try {
    for (const sql of statements) await client.query(sql);
  } finally {
    await client.end();
  }
}
