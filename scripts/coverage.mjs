// `MILLRACE_COVERAGE=1 npm test [-- <path>]`: which lines and branches of apps and libs the tests reached in their own
// process, as V8 itself counted them. What apps do in processes of their own is not in it: those run from their bundles.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { mergeProcessCovs } from '@bcoe/v8-coverage';
import coverage from 'istanbul-lib-coverage';
import v8ToIstanbul from 'v8-to-istanbul';
import { ROOT } from './setup.mjs';
import { compiled, sourceMapOf } from './typescript-cache.mjs';

const NOTHING = [
  { functionName: '(empty-report)', isBlockCoverage: true, ranges: [{ startOffset: 0, count: 0 }] },
];

/** Prints each room's share of lines and branches from what the processes of a run wrote into a folder. */
export async function reportCoverage(folder) {
  const seen = new Map(counted(folder).map(({ url, functions }) => [url, functions]));
  const map = coverage.createCoverageMap();
  for (const file of sources()) map.merge(await inSources(file, seen.get(pathToFileURL(file).href)));
  const rooms = new Map();
  for (const file of map.files())
    for (const room of [relative(ROOT, file).split('/').slice(0, 2).join('/'), 'all'])
      rooms.set(
        room,
        (rooms.get(room) ?? coverage.createCoverageSummary()).merge(map.fileCoverageFor(file).toSummary()),
      );
  for (const [room, { lines, branches }] of [...rooms].sort(([a], [b]) => a.localeCompare(b)))
    console.log(`${room.padEnd(24)} lines ${share(lines)} branches ${share(branches)}`);
}

function counted(folder) {
  const results = readdirSync(folder).map(
    (file) => JSON.parse(readFileSync(join(folder, file), 'utf8')).result,
  );
  const ours = results.map((scripts) => ({ result: scripts.filter(({ url }) => isSource(url)) }));
  return mergeProcessCovs(ours).result;
}

function isSource(url) {
  return url.startsWith('file:') && url.endsWith('.ts') && sources().includes(fileURLToPath(url));
}

let all;
function sources() {
  return (all ??= ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((file) => /\/src\/.*\.ts$/.test(file) && !/spec\.ts$|fixture|testing|^dlq-admin\/ui/.test(file))
      .map((file) => join(ROOT, folder, file)),
  ));
}

async function inSources(file, functions) {
  const { code } = compiled(file);
  const sourcemap = JSON.parse(readFileSync(sourceMapOf(file), 'utf8'));
  const converter = v8ToIstanbul(file, 0, { source: code, sourceMap: { sourcemap } });
  await converter.load();
  converter.applyCoverage(
    functions ?? NOTHING.map((one) => ({ ...one, ranges: [{ ...one.ranges[0], endOffset: code.length }] })),
  );
  return converter.toIstanbul();
}

function share({ covered, total, pct }) {
  return `${String(pct).padStart(6)} % (${covered}/${total})`;
}
