import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempFolder } from '../libs/testing/src/temp-folder.js';
import { report } from './report.js';
import { runMillrace, type Usage } from './run.measure.js';

const FILES_PER_FOLDER = 200;
const FLAT = 0.75;
const LINE = 'const answer = compute(input, { retries: 3, timeout: 1_000 }); // line ';

/** Files of one to forty lines, all different. */
async function makeTree(root: string, files: number): Promise<number> {
  let bytes = 0;
  for (let start = 0; start < files; start += FILES_PER_FOLDER) {
    const folder = join(root, `p${Math.floor(start / 20_000)}`, `d${start / FILES_PER_FOLDER}`);
    await mkdir(folder, { recursive: true });
    await Promise.all(
      Array.from({ length: Math.min(FILES_PER_FOLDER, files - start) }, (_, index) => {
        const number = start + index;
        const text = Array.from(
          { length: 1 + (number % 40) },
          (_, line) => `${LINE}${number}.${line}\n`,
        ).join('');
        bytes += text.length;
        return writeFile(join(folder, `f${number}.ts`), text);
      }),
    );
  }
  return bytes;
}

function reportMemory(name: string, app: string, { history, megabytes, cpuSeconds }: Usage): void {
  const early = Math.max(...history.slice(0, Math.ceil(history.length / 2)));
  report({
    name: `${name}.rss.${app}`,
    value: megabytes,
    unit: 'MB',
    peer: early,
    ratio: early / megabytes,
    aim: FLAT,
  });
  report({ name: `${name}.cpu.${app}`, value: cpuSeconds, unit: 's' });
}

/**
 * So many files through the whole fleet. Memory must not grow with their number: what each process needs at most is
 * compared with what it needed at most in the first half of the run.
 */
export async function measureLoad(name: string, files: number): Promise<void> {
  const tree = await tempFolder('bench-tree');
  const folder = await tempFolder('bench');
  try {
    const bytes = await makeTree(tree.path, files);
    const { result, usage, wallMs } = await runMillrace(tree.path, folder.path);
    if (result.counts.files.analyzed !== files || result.proof.verdict !== 'proven')
      throw new Error(`${JSON.stringify(result.counts.files)}, ${result.proof.verdict}`);
    report({ name: `${name}.files`, value: files, unit: 'files' });
    report({ name: `${name}.wall`, value: wallMs / 1_000, unit: 's' });
    report({ name: `${name}.rate`, value: files / (wallMs / 1_000), unit: 'files/s' });
    report({ name: `${name}.throughput`, value: bytes / 1e6 / (wallMs / 1_000), unit: 'MB/s' });
    for (const [app, used] of usage) reportMemory(name, app, used);
  } finally {
    await tree.remove();
    await folder.remove();
  }
}
