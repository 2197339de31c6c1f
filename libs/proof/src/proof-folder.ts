import { copyFile, link, mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MillraceError } from '#service';
import type { Database } from '#database';
import { pathBytes } from '#files';
import { batchPlaces, outputFolder, sha256Of, writtenBatches } from './output.js';
import { pages } from './pages.js';
import { knownRoots, type KnownRoot } from './tree-rows.js';
import type { Proof } from './verify.js';

/** The folder for a proof holds something already; a proof is never mixed with another. */
class ProofFolderError extends MillraceError {
  readonly code = 'PROOF_FOLDER';

  constructor(folder: string) {
    super(`the proof folder ${folder} is not empty; name one that is empty or not there yet`);
  }
}

const BAG = 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n';
const PAGE = 1_000;

/**
 * Writes the proof for people without Millrace: `sources.sha256`, which `sha256sum -c` accepts at the root of the tree, and a
 * bag (RFC 8493) of the batches as they lie in the output, with the verdict in it. Batches are linked, or copied where that
 * is not possible. Returns the lists of sources, one for each tree.
 */
export async function writeProof(database: Database, proof: Proof, folder: string): Promise<string[]> {
  await mkdir(join(folder, 'data'), { recursive: true });
  if ((await readdir(folder)).length > 1 || (await readdir(join(folder, 'data'))).length > 0)
    throw new ProofFolderError(folder);
  const sources = await writeSources(database, folder);
  await writeFile(join(folder, 'manifest-sha256.txt'), payload(database, folder));
  await writeFile(join(folder, 'bagit.txt'), BAG);
  await writeFile(join(folder, 'verdict.json'), `${JSON.stringify(proof, null, 2)}\n`);
  const tags = ['bagit.txt', 'manifest-sha256.txt', 'verdict.json', ...sources];
  const lines = await Promise.all(
    tags.map(async (name) => `${await sha256Of(join(folder, name))}  ${name}\n`),
  );
  await writeFile(join(folder, 'tagmanifest-sha256.txt'), lines.join(''));
  return sources;
}

async function writeSources(database: Database, folder: string): Promise<string[]> {
  const roots = await knownRoots(database);
  const names = roots.map((_, at) => (at === 0 ? 'sources.sha256' : `sources-${at + 1}.sha256`));
  for (const [at, root] of roots.entries())
    await writeFile(join(folder, names[at] ?? ''), sourceLines(database, root));
  return names;
}

/** The sums of the files of a tree as they were sent, a page at a time. */
async function* sourceLines(database: Database, root: KnownRoot): AsyncGenerator<Buffer> {
  const at = pathBytes(root.path);
  const below = at.length === 1 ? 1 : at.length + 1;
  const page = (after: number) =>
    database.rows<{ id: number; path: string; path_bytes: string | null; hash: string | null }>(
      `SELECT id, path, path_bytes, CASE WHEN hash_algorithm = 'sha256' THEN hash_value ELSE sent_hash END AS hash
         FROM files WHERE root_id = $1 AND removed = 0 AND status = 'analyzed' AND id > $2 ORDER BY id LIMIT ${PAGE}`,
      [root.id, after],
    );
  for await (const files of pages(page, 0, PAGE)) {
    const lines = files.flatMap(({ path, path_bytes, hash }) =>
      hash === null ? [] : [sumLine(hash, pathBytes({ text: path, bytes: path_bytes }).subarray(below))],
    );
    yield Buffer.concat(lines);
  }
}

/** As `sha256sum` writes it: a name with a line end or a backslash is escaped, and a backslash before the sum says so. */
function sumLine(hash: string, name: Buffer): Buffer {
  const text = name.toString('latin1');
  const escaped = text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/\r/g, '\\r');
  return Buffer.from(`${escaped === text ? '' : '\\'}${hash}  ${escaped}\n`, 'latin1');
}

/** Puts every batch into the bag, and tells its line of the manifest. */
async function* payload(database: Database, folder: string): AsyncGenerator<string> {
  const placeOf = await batchPlaces(database, await outputFolder(database));
  for await (const { file, sha256, superseded } of writtenBatches(database)) {
    if (superseded) continue;
    const [from, name] = [placeOf(file), basename(file)];
    const to = join(folder, 'data', name);
    await link(from, to).catch(() => copyFile(from, to));
    yield `${sha256}  data/${name}\n`;
  }
}
