// The size of the house, which may shrink and must not grow: `npm run check` prints it beside the most that is allowed
// (scripts/ratchet.json). `node scripts/ratchet.mjs --keep` makes today's figures the most, `--list` names the places.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect, unusedExports } from './ratchet-parser.mjs';

const ROOT = join(import.meta.dirname, '..');
const ALLOWED = join(import.meta.dirname, 'ratchet.json');
const [SMALL_FILE, LONG_FUNCTION, TOO_LONG] = [30, 25, 45];

/** Every source by its path below the root: those of the product, and those that only import from them. */
export function readSources(root = ROOT) {
  return ['apps', 'libs', 'test', 'bench', 'scripts']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
    )
    .filter((path) => /\.(ts|js|mjs|css|html)$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

function isProduction({ path }) {
  if (!/^(apps|libs)\//.test(path) || path.startsWith('libs/testing/')) return false;
  return !/spec\.ts$|\/testing\/|\.fixture\.|\.process\./.test(path);
}

/** What is counted: lines by room, and figures of which most can tell their places. */
export function measure(sources) {
  const production = sources.filter(isProduction);
  const inspected = inspect(sources.filter(({ path }) => /\.(ts|js|mjs)$/.test(path)));
  // What others wrote, and migrations: lists of statements that nobody edits after their release.
  const code = inspected.filter((file) => isProduction(file) && !/\/(vendor|migrations)\//.test(file.path));
  const functions = code.flatMap((file) => file.functions);
  const longer = (most) =>
    functions.filter(({ lines }) => lines > most).map(({ place, lines }) => `${place} (${lines})`);
  return {
    rooms: linesByRoom(production),
    figures: {
      files: production.map(({ path }) => path),
      'exports that nobody imports': code.flatMap(unusedExports),
      [`files of at most ${SMALL_FILE} lines with one importer`]: code
        .map(({ path, lines, importers }) => ({ path, lines, importers: [...importers] }))
        .filter(
          ({ lines, importers: [first, ...others] }) => lines <= SMALL_FILE && first && others.length === 0,
        )
        .filter(({ importers: [path] }) => isProduction({ path }))
        .map(({ path, importers }) => `${path} → ${importers[0]}`),
      'interfaces named …Options, …Parts or …Context': code.flatMap((file) => file.bags),
      [`functions over ${LONG_FUNCTION} lines`]: longer(LONG_FUNCTION),
      [`functions over ${TOO_LONG} lines`]: longer(TOO_LONG),
    },
  };
}

function linesByRoom(production) {
  const rooms = { all: 0 };
  for (const { path, text } of production) {
    const room = path.split('/').slice(0, 2).join('/');
    const lines = text.split('\n').length - 1;
    rooms[room] = (rooms[room] ?? 0) + lines;
    rooms.all += lines;
  }
  return Object.fromEntries(Object.entries(rooms).sort(([a], [b]) => a.localeCompare(b)));
}

/** The measure as plain numbers, in the shape of ratchet.json. */
export function countsOf({ rooms, figures }) {
  const counted = Object.entries(figures).map(([name, places]) => [name, places.length]);
  return { lines: rooms, ...Object.fromEntries(counted) };
}

/** What is over the allowed most, a line each. */
export function grown(counts, allowed) {
  const over = (name, count, most) =>
    count > (most ?? 0) ? [`${name}: ${count}, allowed ${most ?? 0}`] : [];
  const { lines, ...figures } = counts;
  return [
    ...Object.entries(lines).flatMap(([room, count]) => over(`lines of ${room}`, count, allowed.lines[room])),
    ...Object.entries(figures).flatMap(([name, count]) => over(name, count, allowed[name])),
  ];
}

export function readAllowed() {
  return JSON.parse(readFileSync(ALLOWED, 'utf8'));
}

function main(words) {
  const measured = measure(readSources());
  const counts = countsOf(measured);
  if (words.includes('--list'))
    console.log(JSON.stringify({ ...measured.figures, files: undefined }, null, 2));
  if (words.includes('--keep')) writeFileSync(ALLOWED, `${JSON.stringify(counts, null, 2)}\n`);
  const { lines, ...figures } = counts;
  console.log(`${lines.all} lines of production in ${figures.files} files`);
  console.log(
    Object.entries(lines)
      .filter(([room]) => room !== 'all')
      .map(([room, count]) => `${room} ${count}`)
      .join(', '),
  );
  for (const [name, count] of Object.entries(figures)) if (name !== 'files') console.log(`${count} ${name}`);
  const over = grown(counts, readAllowed());
  for (const line of over)
    console.error(`grown: ${line}. Fold or delete what it replaces; --list names the places.`);
  process.exitCode = over.length > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2));
