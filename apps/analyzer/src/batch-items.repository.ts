import type { BatchEvent, BatchFile } from '#contracts';
import { PLACE_COLUMNS, places, queryRows, type Database, type PlaceRow } from '#database';
import type { FilePlace, FileStat } from '#files';

/** A part of a batch as the tables tell it: what is opened and sent, whatever the event says. */
export interface BatchItem {
  file: BatchFile;
  place: FilePlace;
  /** The whole file when it was counted, for a part of several: none is sent once the file is another. */
  whole?: { stat: FileStat; hash: string | null } | 'superseded';
}

interface Row extends PlaceRow {
  file_id: number;
  revision: number;
  part: number;
  parts: number;
  byte_start: number;
  byte_end: number;
  tokens: number;
  content_hash: string;
  current: number;
  size: number;
  mtime_ns: string;
  ctime_ns: string;
  inode: string;
  hash: string | null;
}

const COLUMNS = `i.file_id, i.revision, i.part, i.parts, i.byte_start, i.byte_end, i.tokens, i.content_hash,
  f.revision AS current, f.size, f.mtime_ns, f.ctime_ns, f.inode,
  CASE WHEN f.hash_algorithm = 'sha256' THEN f.hash_value END AS hash, ${PLACE_COLUMNS}`;

/** The items of batches. */
export class BatchItems {
  constructor(private readonly database: Database) {}

  /** In the order of the event, so that a batch is written the same each time. */
  async of({ id, files }: BatchEvent): Promise<BatchItem[]> {
    const items = await this.database.read(async (manager) => {
      const rows = await queryRows<Row>(
        manager,
        `SELECT ${COLUMNS} FROM batch_items i JOIN files f ON f.id = i.file_id JOIN folders d ON d.id = f.folder_id
         WHERE i.batch_id = $1 ORDER BY i.file_id, i.part`,
        [id],
      );
      const placeOf = await places(manager);
      return rows.map((row) => itemOf(row, placeOf(row)));
    });
    const order = new Map(files.map((file, index) => [keyOf(file), index]));
    const at = ({ file }: BatchItem): number => order.get(keyOf(file)) ?? files.length;
    return items.sort((one, other) => at(one) - at(other));
  }
}

function keyOf({ fileId, part }: BatchFile): string {
  return `${fileId}-${part}`;
}

function itemOf(row: Row, place: FilePlace): BatchItem {
  const { text: path, bytes } = place.path;
  const file: BatchFile = {
    ...{ fileId: Number(row.file_id), revision: Number(row.revision), path },
    ...(bytes !== null && { pathBytes: bytes }),
    ...{ tokens: Number(row.tokens), part: Number(row.part), parts: Number(row.parts) },
    ...{ start: Number(row.byte_start), end: Number(row.byte_end), hash: row.content_hash },
  };
  return file.parts === 1 ? { file, place } : { file, place, whole: wholeOf(row) };
}

function wholeOf({ revision, current, size, mtime_ns, ctime_ns, inode, hash }: Row): BatchItem['whole'] {
  if (Number(revision) !== Number(current)) return 'superseded';
  return { stat: { size: Number(size), mtimeNs: mtime_ns, ctimeNs: ctime_ns, inode }, hash };
}
