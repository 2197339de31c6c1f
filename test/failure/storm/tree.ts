import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '#testing';
import { Turns } from './turns.js';

export const NEIGHBOUR = 'neighbour';

/** The tree under the storm. Every content is written once and never again, so that it can be recognised. */
export class StormTree {
  private serial = 0;
  private readonly paths: string[] = [];
  private readonly turns = new Turns();

  constructor(
    readonly root: string,
    /** In every line of its files. */
    private readonly word = 'own',
  ) {}

  async grow(files: number, random: Random): Promise<void> {
    for (let index = 0; index < files; index++) await this.create(random);
  }

  /** Changes, deletes and adds a few files. */
  churn(random: Random): Promise<string> {
    return this.turns.take('tree', () => this.change(random));
  }

  /** Takes a folder with all that is in it away for a while; nobody changes the tree meanwhile. */
  moveAway<T>(random: Random, meanwhile: () => Promise<T>): Promise<T> {
    return this.turns.take('tree', async () => {
      const folder = join(this.root, topOf(random.pick(this.paths)));
      const aside = `${this.root}-aside`;
      await rename(folder, aside);
      return meanwhile().finally(() => rename(aside, folder));
    });
  }

  /** Makes a folder, and some files elsewhere, unreadable for a while; nobody changes the tree meanwhile. */
  takePermissions<T>(random: Random, meanwhile: () => Promise<T>): Promise<T> {
    return this.turns.take('tree', async () => {
      const top = topOf(random.pick(this.paths));
      const files = Array.from({ length: 5 }, () => random.pick(this.paths));
      const taken = [top, ...files.filter((path) => topOf(path) !== top)].map((path) =>
        join(this.root, path),
      );
      for (const path of taken) await chmod(path, 0);
      return meanwhile().finally(async () => {
        for (const path of taken) await chmod(path, 0o755);
      });
    });
  }

  /** Writes some files again as they are, in files of their own: other inodes, other times, the same content. */
  rewriteSame(random: Random): Promise<string[]> {
    return this.turns.take('tree', async () => {
      const some = Array.from({ length: random.between(5, 20) }, () => random.pick(this.paths));
      for (const path of some) {
        const content = await readFile(join(this.root, path));
        await rm(join(this.root, path));
        await writeFile(join(this.root, path), content);
      }
      return some;
    });
  }

  private async change(random: Random): Promise<string> {
    const done = { changed: 0, deleted: 0, added: 0 };
    for (let round = random.between(1, 12); round > 0; round--) {
      const draw = random.next();
      if (draw < 0.5) {
        await this.write(random.pick(this.paths), random);
        done.changed++;
      } else if (draw < 0.7 && this.paths.length > 20) {
        const [path] = this.paths.splice(random.between(0, this.paths.length - 1), 1);
        await rm(join(this.root, path as string));
        done.deleted++;
      } else {
        await this.create(random);
        done.added++;
      }
    }
    return JSON.stringify(done);
  }

  /** Gives every file another content. */
  async rewrite(random: Random): Promise<void> {
    for (const path of this.paths) await this.write(path, random);
  }

  /** Deletes some files. */
  async remove(count: number): Promise<void> {
    for (const path of this.paths.splice(0, count)) await rm(join(this.root, path));
  }

  /** What is on the disk now, by path below the root. */
  async contents(): Promise<Map<string, string>> {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true });
    const found = new Map<string, string>();
    for (const entry of entries)
      if (entry.isFile()) {
        const path = join(entry.parentPath, entry.name);
        found.set(path.slice(this.root.length + 1), await readFile(path, 'utf8'));
      }
    return found;
  }

  private async create(random: Random): Promise<void> {
    const path = `d${random.between(0, 20)}/e${random.between(0, 4)}/f${this.serial}.txt`;
    await mkdir(join(this.root, path, '..'), { recursive: true });
    this.paths.push(path);
    await this.write(path, random);
  }

  private async write(path: string, random: Random): Promise<void> {
    // Now and then larger than the budget of the storm, so that parts are under fire too.
    const lines = random.next() < 0.03 ? random.between(300, 900) : random.between(1, 40);
    const serial = this.serial++;
    const text = Array.from(
      { length: lines },
      (_, line) => `serial ${serial} line ${line} ${random.between(0, 1e9)} ${this.word}`,
    );
    await writeFile(join(this.root, path), `${text.join('\n')}\n`);
  }
}

function topOf(path: string): string {
  return path.slice(0, path.indexOf('/'));
}
