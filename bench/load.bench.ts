// 200,000 files through the whole fleet: `npm run bench -- load`. Memory must not grow with the number of files: what each
// process needs at most is compared with what it needed at most in the first half of the run.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempFolder } from '../libs/testing/src/temp-folder.js';
import { report } from './report.js';
import { runMillrace, type Usage } from './run.measure.js';

const FILES = Number(process.argv[2] ?? 200_000);
const FILES_A_FOLDER = 200;
const FLAT = 0.75;
const LINE = 'const answer = compute(input, { retries: 3, timeout: 1_000 }); // line ';

/** Files of one to forty lines, all different. */
async function makeTree(root: string): Promise<number> {
  let bytes = 0;
  for (let start = 0; start < FILES; start += FILES_A_FOLDER) {
    const folder = join(root, `p${Math.floor(start / 20_000)}`, `d${start / FILES_A_FOLDER}`);
    await mkdir(folder, { recursive: true });
    await Promise.all(
      Array.from({ length: Math.min(FILES_A_FOLDER, FILES - start) }, (_, index) => {
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

function reportMemory(app: string, { history, megabytes, cpuSeconds }: Usage): void {
  const early = Math.max(...history.slice(0, Math.ceil(history.length / 2)));
  report({
    name: `load.rss.${app}`,
    value: megabytes,
    unit: 'MB',
    peer: early,
    ratio: early / megabytes,
    aim: FLAT,
  });
  report({ name: `load.cpu.${app}`, value: cpuSeconds, unit: 's' });
}

const tree = await tempFolder('bench-tree');
const folder = await tempFolder('bench');
try {
  const bytes = await makeTree(tree.path);
  const { result, usage, wallMs } = await runMillrace(tree.path, folder.path);
  if (result.counts.files.analyzed !== FILES || result.proof.verdict !== 'proven')
    throw new Error(`${JSON.stringify(result.counts.files)}, ${result.proof.verdict}`);
  report({ name: 'load.files', value: FILES, unit: 'files' });
  report({ name: 'load.wall', value: wallMs / 1_000, unit: 's' });
  report({ name: 'load.rate', value: FILES / (wallMs / 1_000), unit: 'files/s' });
  report({ name: 'load.throughput', value: bytes / 1e6 / (wallMs / 1_000), unit: 'MB/s' });
  for (const [app, used] of usage) reportMemory(app, used);
} finally {
  await tree.remove();
  await folder.remove();
}
