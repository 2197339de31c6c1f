import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnBuilt, tempFolder, type Child, type TempFolder } from '#testing';

export interface RunResult {
  delivered: { files: number; batches: number };
  proof: { verdict: string; files: number; digest: string; counts: { files: Record<string, number> } };
}

/** A tree, an output folder and a data directory for runs of `millrace run`; what was started ends with the test or tests. */
export class RunRig {
  folder!: TempFolder;
  out!: string;
  readonly children: Child[] = [];

  get tree(): string {
    return join(this.folder.path, 'tree');
  }

  get data(): string {
    return join(this.folder.path, 'data');
  }

  millrace(args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
    // Redis's socket goes there too, so that its process can be told from others.
    const own = { TMPDIR: this.folder.path, MILLRACE_TEST_HASTE: '4', ...env };
    return this.keep(spawnBuilt('apps/cli/src/main', ['--data', this.data, ...args], own));
  }

  run(...args: string[]): Child {
    return this.millrace(['-o', 'json', 'run', this.tree, '--out', this.out, ...args]);
  }

  keep(child: Child): Child {
    this.children.push(child);
    return child;
  }

  /** The processes that this rig's runs have started and that are still there, by the command that started each. */
  async processes(): Promise<{ pid: number; command: string }[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const read = (pid: string, file: string): Promise<string> =>
      readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    const all = await Promise.all(
      pids.map(async (pid) => {
        const command = await read(pid, 'cmdline');
        // The machine's own threads have none, and are most of what there is.
        return { pid: Number(pid), command, told: command === '' ? '' : await read(pid, 'environ') };
      }),
    );
    return all
      .filter(({ command, told }) => `${command}${told}`.includes(this.folder.path))
      .filter(({ command }) => !command.includes('apps/cli/'))
      .map(({ pid, command }) => ({ pid, command: command.replaceAll('\0', ' ') }));
  }

  async succeed(child: Child): Promise<RunResult> {
    const { code } = await child.exited;
    if (code !== 0) throw new Error(`exit ${code}\n${child.stdout}\n${child.stderr}`);
    return JSON.parse(child.stdout) as RunResult;
  }
}

/** A rig for each test, or one for all tests of a group that look at the same run. */
export function useRunRig(per: 'test' | 'group' = 'test'): RunRig {
  const rig = new RunRig();
  const [before, after] = per === 'test' ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(async () => {
    rig.folder = await tempFolder('run');
    rig.out = join(rig.folder.path, 'out');
    await mkdir(rig.tree);
  });
  after(async () => {
    for (const child of rig.children.splice(0)) await child.end('SIGKILL');
    await rig.folder.remove();
  });
  return rig;
}
