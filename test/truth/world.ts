import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  eventually,
  PROJECT_ROOT,
  sharedRedis,
  spawnProgram,
  tempFolder,
  type Child,
  type TempFolder,
} from '#testing';

export type Tree = Readonly<Record<string, string | Buffer>>;

/** How a command ended: its code, its words, and the verdict if it gave one. */
export interface Outcome {
  code: number | null;
  verdict: string | undefined;
  stdout: string;
  stderr: string;
}

// Root without its right to pass over modes.
const HUMBLE = ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'];
const MILLRACE = join(PROJECT_ROOT, 'dist/apps/cli/src/main.js');

/** A folder to work in, with a tree in it, and the commands of a person who sits there. All of it is gone after the case. */
export class World {
  private readonly children: Child[] = [];
  private readonly endings: (() => Promise<unknown>)[] = [];

  private constructor(private readonly folder: TempFolder) {}

  static async open(tree: Tree): Promise<World> {
    const world = new World(await tempFolder('truth'));
    await mkdir(world.at('cwd'));
    await world.write(tree);
    return world;
  }

  /** The path of something in the world; commands run in `cwd`. */
  at(...names: string[]): string {
    return join(this.folder.path, ...names);
  }

  get tree(): string {
    return this.at('tree');
  }

  get out(): string {
    return this.at('out');
  }

  /** Adds files to the tree, or to another folder of the world. */
  async write(files: Tree, folder = 'tree'): Promise<void> {
    await mkdir(this.at(folder), { recursive: true });
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(this.at(folder, name)), { recursive: true });
      await writeFile(this.at(folder, name), content);
    }
  }

  /** Starts a command and does not wait for it. */
  start(args: readonly string[], env: Record<string, string> = {}, cwd = 'cwd'): Child {
    const child = spawnProgram(process.execPath, [MILLRACE, ...args], {
      cwd: this.at(cwd),
      env: { TMPDIR: this.folder.path, ...env },
    });
    this.children.push(child);
    return child;
  }

  /** The same for a user to whom the modes of files mean something, as they do not to root. */
  startHumbly(args: readonly string[]): Child {
    const humbly = process.getuid?.() === 0 ? HUMBLE : [];
    const [program = '', ...rest] = [...humbly, process.execPath, MILLRACE, ...args];
    const child = spawnProgram(program, rest, { cwd: this.at('cwd'), env: { TMPDIR: this.folder.path } });
    this.children.push(child);
    return child;
  }

  command(...args: string[]): string[] {
    return [MILLRACE, ...args];
  }

  async millrace(args: readonly string[], env: Record<string, string> = {}, cwd = 'cwd'): Promise<Outcome> {
    return outcomeOf(this.start(args, env, cwd));
  }

  /** `millrace run` of the tree into `out` as JSON lines, with the data folder that goes with it. */
  run(...more: string[]): Promise<Outcome> {
    return this.millrace(this.runArguments(...more));
  }

  runArguments(...more: string[]): string[] {
    return ['-o', 'json', 'run', this.tree, '--out', this.out, '--format', 'jsonl', ...more];
  }

  /** The files that batches in a folder hold, as often as they do, sorted. */
  async delivered(out = this.out): Promise<string[]> {
    const names = await readdir(out).catch(() => []);
    const lines = await Promise.all(
      names.filter((name) => name.endsWith('.jsonl')).map((name) => readFile(join(out, name), 'utf8')),
    );
    return lines
      .flatMap((text) => text.trimEnd().split('\n'))
      .flatMap((line) => {
        const { path, part } = JSON.parse(line) as { path?: string; part?: number };
        return path !== undefined && (part ?? 1) === 1 ? [path] : [];
      })
      .sort();
  }

  /** A Redis that others use, too. */
  sharedRedis(): Record<string, string> {
    return { MILLRACE_REDIS_URL: sharedRedis().url };
  }

  /** The process of an app that a command of this world has started, once it is there. */
  async pidOf(app: string): Promise<number> {
    return eventually(
      async () => {
        const pid = await this.findPid(app);
        if (pid === undefined) throw new Error(`${app} does not run`);
        return pid;
      },
      { timeoutMs: 60_000 },
    );
  }

  async findPid(app: string): Promise<number | undefined> {
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (!command.includes(`apps/${app}/`)) continue;
      const told = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      if (told.includes(this.folder.path)) return Number(pid);
    }
    return undefined;
  }

  /** To be ended with the world. */
  whenDone(end: () => Promise<unknown>): void {
    this.endings.push(end);
  }

  async close(): Promise<void> {
    for (const child of this.children) if (child.running) await child.end('SIGKILL');
    for (const end of this.endings.reverse()) await end();
    await this.folder.remove();
  }
}

export async function outcomeOf(child: Child): Promise<Outcome> {
  const { code } = await child.exited;
  const { stdout, stderr } = child;
  return { code, verdict: verdictIn(stdout), stdout, stderr };
}

function verdictIn(text: string): string | undefined {
  const json = /"verdict": ?"([^"]+)"/.exec(text)?.[1];
  return (json ?? /^(PROVEN EXCEPT|PROVEN|IN FLIGHT|VIOLATED)/m.exec(text)?.[1])?.toUpperCase();
}
