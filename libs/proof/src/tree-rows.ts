import { places, PLACE_COLUMNS, queryRows, type Database, type PlaceRow } from '#database';
import type { FilePlace, FileStat, PathText } from '#files';
import { pages } from './pages.js';

/** A byte range of a file as it was put into a batch. */
interface SentPart {
  start: number;
  end: number;
  hash: string;
}

/** What the tables say of one file of a folder. */
export interface KnownFile extends FileStat {
  id: number;
  name: string;
  place: FilePlace;
  status: string;
  skipReason: string | null;
  /** sha256 of its content, where that is what was recorded. */
  hash: string | null;
  parts: SentPart[];
}

const IN_FOLDER = 'd.path_key = $1 AND d.removed = 0 AND f.removed = 0';
const FROM_FOLDER = 'FROM folders d JOIN files f ON f.folder_id = d.id';

/** The files of a folder by their names, each with what was sent of it. */
export function filesOfFolder(database: Database, pathKey: string): Promise<Map<string, KnownFile>> {
  return database.read(async (manager) => {
    const rows = await queryRows<PlaceRow & Omit<KnownFile, 'place' | 'parts'>>(
      manager,
      `SELECT f.id, f.name, f.size, f.mtime_ns AS "mtimeNs", f.ctime_ns AS "ctimeNs", f.inode, f.status,
         f.skip_reason AS "skipReason", ${PLACE_COLUMNS},
         CASE WHEN f.hash_algorithm = 'sha256' THEN f.hash_value END AS hash ${FROM_FOLDER} WHERE ${IN_FOLDER}`,
      [pathKey],
    );
    const parts = await queryRows<SentPart & { fileId: number }>(
      manager,
      `SELECT i.file_id AS "fileId", i.byte_start AS start, i.byte_end AS "end", i.content_hash AS hash ${FROM_FOLDER}
       JOIN batch_items i ON i.file_id = f.id AND i.revision = coalesce(f.sent_revision, f.revision)
       WHERE ${IN_FOLDER} AND f.status = 'analyzed' ORDER BY i.file_id, i.part`,
      [pathKey],
    );
    const placeOf = await places(manager);
    const known = new Map(
      rows.map((row): [number, KnownFile] => [row.id, { ...row, place: placeOf(row), parts: [] }]),
    );
    for (const part of parts) known.get(part.fileId)?.parts.push(part);
    return new Map([...known.values()].map((file) => [file.name, file]));
  });
}

interface KnownFolder {
  id: number;
  path: string;
  pathKey: string;
}

const PAGE = 10_000;

/** Every folder that the tables know of a root, in pages. */
export async function* foldersOfRoot(database: Database, rootId: number): AsyncGenerator<KnownFolder> {
  const page = (after: number): Promise<KnownFolder[]> =>
    database.rows(
      `SELECT id, path, path_key AS "pathKey" FROM folders WHERE root_id = $1 AND removed = 0 AND id > $2 ORDER BY id LIMIT ${PAGE}`,
      [rootId, after],
    );
  for await (const folders of pages(page, 0, PAGE)) yield* folders;
}

export interface KnownRoot {
  id: number;
  path: PathText;
  /** What a scan of it is told, as JSON. */
  rules: string;
}

export async function knownRoots(database: Database): Promise<KnownRoot[]> {
  const rows = await database.rows<{ id: number; path: string; path_bytes: string | null; rules: string }>(
    'SELECT id, path, path_bytes, rules FROM roots ORDER BY id',
  );
  return rows.map(({ path, path_bytes, ...root }) => ({ ...root, path: { text: path, bytes: path_bytes } }));
}
