import { afterEach, beforeEach } from '@jest/globals';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnBuilt, tempFolder, type Child, type TempFolder } from '#testing';

export interface RunResult {
  delivered: { files: number; batches: number };
  proof: { verdict: string; files: number; digest: string; counts: { files: Record<string, number> } };
}

/** A tree, an output folder and a data directory for one test of `millrace run`; what was started ends with the test. */
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
    return this.keep(spawnBuilt('apps/cli/src/main', ['--data', this.data, ...args], env));
  }

  run(...args: string[]): Child {
    return this.millrace(['-o', 'json', 'run', this.tree, '--out', this.out, ...args]);
  }

  keep(child: Child): Child {
    this.children.push(child);
    return child;
  }

  async succeed(child: Child): Promise<RunResult> {
    const { code } = await child.exited;
    if (code !== 0) throw new Error(`exit ${code}\n${child.stdout}\n${child.stderr}`);
    return JSON.parse(child.stdout) as RunResult;
  }
}

export function useRunRig(): RunRig {
  const rig = new RunRig();
  beforeEach(async () => {
    rig.folder = await tempFolder('run');
    rig.out = join(rig.folder.path, 'out');
    await mkdir(rig.tree);
  });
  afterEach(async () => {
    for (const child of rig.children.splice(0)) await child.end('SIGKILL');
    await rig.folder.remove();
  });
  return rig;
}
