import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { DATABASE_KINDS, eventually, spawnBuilt } from '#testing';

const storm = (...args: string[]) => spawnBuilt('test/failure/storm/main', args);

describe('npm run storm', () => {
  it('explains itself', async () => {
    const child = storm('--help');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stdout).toContain('--seeds A..B');
  });

  it.each([
    [['--database', 'mysql'], '--database is sqlite, postgres or both, not "mysql"'],
    [['--sed', '1'], "Unknown option '--sed'"],
  ])('refuses %j with a sentence and exit code 64', async (args, sentence) => {
    const child = storm(...args);
    expect(await child.exited).toEqual({ code: 64, signal: null });
    expect(child.stderr).toContain(sentence);
    expect(child.stderr).toContain('--help');
  });

  it.each(DATABASE_KINDS)(
    'ends every process that it started when it is interrupted, on %s',
    async (kind) => {
      const child = storm('--seed', '1', '--files', '30', '--minutes', '10', '--database', kind);
      const started = await eventually(
        async () => {
          const found = await descendants(child.pid);
          return found.length > 8 && found;
        },
        { timeoutMs: 120_000, everyMs: 200 },
      );
      expect(await child.end('SIGINT', 60_000)).toEqual({ code: 130, signal: null });
      expect(child.stdout).toMatch(new RegExp(`1 +${kind} +STOPPED`));
      const left = await Promise.all(started.map(statusOf));
      expect(left.filter((process) => process !== undefined)).toEqual([]);
    },
    240_000,
  );
});

/** Processes below `root` that are not its zombies, by /proc. */
async function descendants(root: number): Promise<number[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = await Promise.all(ids.map(statusOf));
  const below = (pid: number): number[] =>
    all.flatMap((entry) => (entry?.parent === pid ? [entry.pid, ...below(entry.pid)] : []));
  return below(root);
}

async function statusOf(pid: number): Promise<{ pid: number; parent: number } | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    if (/^State:\s+Z/m.test(status)) return undefined;
    return { pid, parent: Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) };
  } catch {
    // It has ended since it was listed.
    return undefined;
  }
}
