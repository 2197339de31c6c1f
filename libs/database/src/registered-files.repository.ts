import type { EntityManager } from 'typeorm';
import type { FilePlace } from '#files';
import { bulkSelect } from './bulk.js';
import type { Database } from './database.service.js';
import type { FileStatus } from './entities/scan.entity.js';
import { isIn, listOf, queryRows } from './query.js';

/** A file as its row tells: what is opened, whatever a job says. */
export interface RegisteredFile extends FilePlace {
  id: number;
  revision: number;
  status: FileStatus;
  removed: boolean;
  /** See FileEntity. */
  jobId: string | null;
}

export interface PlaceRow {
  root_id: number;
  path: string;
  path_bytes: string | null;
  folder_identity: string | null;
}

type Row = PlaceRow &
  Pick<RegisteredFile, 'id' | 'revision' | 'status'> & { removed: number; job_id: string | null };
type RootRow = Pick<PlaceRow, 'path' | 'path_bytes'> & { id: number; rules: string };

const COLUMNS = [
  ...(['id', 'revision', 'status', 'removed', 'job_id'] as const),
  ...(['root_id', 'path', 'path_bytes', 'folder_identity'] as const),
];

/** What places share that lie in one root. */
export type TreePlace = Pick<FilePlace, 'root' | 'followLinks'>;

/** The columns of a `PlaceRow`, of `files f JOIN folders d`. */
export const PLACE_COLUMNS = 'f.root_id, f.path, f.path_bytes, d.inode AS folder_identity';

/** Where files are, by their ids. A job is a hint: its readers ask here. */
export class RegisteredFiles {
  constructor(private readonly database: Database) {}

  find(ids: readonly number[]): Promise<Map<number, RegisteredFile>> {
    return this.database.read(async (manager) => {
      const wanted = [...new Set(ids)];
      const rows = await bulkSelect<Row>(
        manager,
        COLUMNS,
        `FROM (SELECT f.id, f.revision, f.status, f.removed, f.job_id, ${PLACE_COLUMNS}
          FROM files f JOIN folders d ON d.id = f.folder_id
          WHERE f.id ${isIn(manager, 1, 'bigint')}) AS found`,
        [listOf(manager, wanted)],
      );
      const placeOf = await places(manager);
      const fileOf = (row: Row): RegisteredFile => {
        const { id, revision, status, removed, job_id: jobId } = row;
        return Object.assign(placeOf(row), { id, revision, status, removed: removed === 1, jobId });
      };
      return new Map(rows.map((row) => [row.id, fileOf(row)]));
    });
  }
}

/** Turns rows into places; roots are few and are read at once. */
export async function places(manager: EntityManager): Promise<(row: PlaceRow) => FilePlace> {
  const trees = await treePlaces(manager);
  return ({ root_id, path, path_bytes, folder_identity }) => {
    const tree = trees.get(root_id);
    if (!tree) throw new Error(`file ${path} belongs to root ${root_id}, which is not there`);
    const { root, followLinks } = tree;
    return { root, followLinks, path: { text: path, bytes: path_bytes }, folderIdentity: folder_identity };
  };
}

/** Every root by its id. */
export async function treePlaces(manager: EntityManager): Promise<Map<number, TreePlace>> {
  const roots = await queryRows<RootRow>(manager, 'SELECT id, path, path_bytes, rules FROM roots');
  return new Map(roots.map((root) => [root.id, treeOf(root)]));
}

function treeOf({ path, path_bytes, rules }: RootRow): TreePlace {
  const { followSymlinks } = JSON.parse(rules) as { followSymlinks?: boolean };
  return { root: { text: path, bytes: path_bytes }, followLinks: followSymlinks === true };
}
