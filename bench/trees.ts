import { copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { PROJECT_ROOT } from '../libs/testing/src/child.js';

const TEXT = /\.(?:[cm]?[jt]s|json|md)$/;
const FILES_PER_FOLDER = 500;

/** Source code and documents as projects have them: the texts of this project's dependencies of up to half a megabyte. */
export async function textTree(root: string, limits: { files: number; minBytes: number }): Promise<number> {
  const from = join(PROJECT_ROOT, 'node_modules');
  const entries = await readdir(from, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile() && TEXT.test(entry.name));
  let [files, bytes] = [0, 0];
  for (const path of paths.map(({ parentPath, name }) => join(parentPath, name)).sort()) {
    const { size } = await stat(path);
    if (size < limits.minBytes || size > 524_288) continue;
    const target = join(root, relative(from, path).replaceAll('node_modules', 'packages'));
    await mkdir(dirname(target), { recursive: true });
    await copyFile(path, target);
    bytes += size;
    if (++files === limits.files) break;
  }
  return bytes;
}

/** Files of 150 bytes, all different. */
export async function tinyTree(root: string, files: number): Promise<void> {
  for (let start = 0; start < files; start += FILES_PER_FOLDER) {
    const folder = join(root, `d${start / FILES_PER_FOLDER}`);
    await mkdir(folder, { recursive: true });
    const numbers = Array.from(
      { length: Math.min(FILES_PER_FOLDER, files - start) },
      (_, index) => start + index,
    );
    await Promise.all(numbers.map((number) => writeFile(join(folder, `f${number}.txt`), tinyText(number))));
  }
}

function tinyText(number: number): string {
  return (
    `file ${number}: a line of a log, as short as such lines are, told again and again `.padEnd(
      149,
      'abc def ',
    ) + '\n'
  );
}
