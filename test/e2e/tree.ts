import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const WORDS =
  'the quick brown fox jumps over a lazy dog while functions return values and errors carry their cause'.split(
    ' ',
  );

/** Text of about `bytes` bytes that is the same for the same seed. */
export function textOf(seed: number, bytes: number): string {
  let state = seed + 1;
  const lines: string[] = [];
  for (let size = 0; size < bytes;) {
    const words = Array.from({ length: 8 }, () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return WORDS[state % WORDS.length];
    });
    const line = `${words.join(' ')} ${state}`;
    lines.push(line);
    size += line.length + 1;
  }
  return `${lines.join('\n')}\n`;
}

async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** Adds text files of different sizes; `from` is how many there are. */
export async function growTree(root: string, from: number, files: number): Promise<void> {
  for (let index = from; index < from + files; index++)
    await write(
      join(root, `d${index % 7}/e${index % 3}/f${index}.txt`),
      textOf(index, 50 + (index % 40) * 100),
    );
}

/** A tree of text files with a few oddities: a binary, an empty file, one larger than small budgets, an ignored folder. */
export async function makeTree(root: string, files: number): Promise<void> {
  await growTree(root, 0, files);
  await write(join(root, 'large.txt'), textOf(9_999, 60_000));
  await write(join(root, 'binary.bin'), Buffer.from([0, 1, 2, 3, 0, 255]));
  await write(join(root, 'empty.txt'), '');
  await write(join(root, 'naïve – ünïcode 文件.md'), 'Grüße, 世界 🌍\n');
  await write(join(root, '.gitignore'), 'ignored/\n');
  await write(join(root, 'ignored/never.txt'), 'never sent');
}

/** Every regular file below a folder, by path relative to it. */
export async function filesBelow(root: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = new Map<string, Buffer>();
  for (const entry of entries)
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      files.set(path.slice(root.length + 1), await readFile(path));
    }
  return files;
}
