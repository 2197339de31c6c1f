import { copyFile, link, mkdir, open, readdir, writeFile, type FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MillraceError } from '#service';
import type { Database } from '#database';
import { pathBytes } from '#files';
import { batchPlaces, outputFolder, sha256Of, writtenBatches } from './output.js';
import { pages } from './pages.js';
import { knownRoots } from './tree-rows.js';
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
  await writePayload(database, folder);
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
  for (const [at, { id, path }] of roots.entries()) {
    const file = await open(join(folder, names[at] ?? ''), 'wx');
    try {
      await writeRoot(database, file, id, pathBytes(path));
    } finally {
      await file.close();
    }
  }
  return names;
}

async function writeRoot(database: Database, file: FileHandle, root: number, at: Buffer): Promise<void> {
  const below = at.length === 1 ? 1 : at.length + 1;
  const page = (after: number) =>
    database.rows<{ id: number; path: string; path_bytes: string | null; hash: string | null }>(
      `SELECT id, path, path_bytes, CASE WHEN hash_algorithm = 'sha256' THEN hash_value ELSE sent_hash END AS hash
         FROM files WHERE root_id = $1 AND removed = 0 AND status = 'analyzed' AND id > $2 ORDER BY id LIMIT ${PAGE}`,
      [root, after],
    );
  for await (const files of pages(page, 0, PAGE)) {
    const lines = files.flatMap(({ path, path_bytes, hash }) =>
      hash === null ? [] : [sumLine(hash, pathBytes({ text: path, bytes: path_bytes }).subarray(below))],
    );
    await file.appendFile(Buffer.concat(lines));
  }
}

/** As `sha256sum` writes it: a name with a line end or a backslash is escaped, and a backslash before the sum says so. */
function sumLine(hash: string, name: Buffer): Buffer {
  const text = name.toString('latin1');
  const escaped = text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/\r/g, '\\r');
  return Buffer.from(`${escaped === text ? '' : '\\'}${hash}  ${escaped}\n`, 'latin1');
}

async function writePayload(database: Database, folder: string): Promise<void> {
  const manifest = await open(join(folder, 'manifest-sha256.txt'), 'wx');
  const placeOf = await batchPlaces(database, await outputFolder(database));
  try {
    for await (const { file, sha256, superseded } of writtenBatches(database)) {
      if (superseded) continue;
      const name = basename(file);
      await linkOrCopy(placeOf(file), join(folder, 'data', name));
      await manifest.appendFile(`${sha256}  data/${name}\n`);
    }
  } finally {
    await manifest.close();
  }
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to);
  }
}
