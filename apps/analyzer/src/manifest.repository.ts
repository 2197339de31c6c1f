import { queryRows, type Database } from '#database';

export interface ManifestItem {
  batchId: string;
  path: string;
  revision: number;
  part: number;
  parts: number;
  tokens: number;
  outcome: string;
}

export interface ManifestBatch {
  id: string;
  totalTokens: number;
  itemCount: number;
}

const PAGE = 1_000;

/** A part that was sent before its file changed is torn from the rest, which follows whole as a later revision. */
const OUTCOME = `CASE WHEN a.outcome = 'delivered' AND EXISTS (SELECT 1 FROM analyses s
  WHERE s.file_id = a.file_id AND s.revision = a.revision AND s.outcome = 'stale') THEN 'superseded' ELSE a.outcome END`;

/** Delivered batches in the order in which they were packed, and their items; paged, so that memory stays flat. */
export class ManifestRepository {
  constructor(private readonly database: Database) {}

  async *batches(): AsyncGenerator<ManifestBatch> {
    for (let after = { at: 0, id: '' }; ;) {
      const rows = await this.database.read((manager) =>
        queryRows<{ id: string; total_tokens: number; item_count: number; created_at: number }>(
          manager,
          `SELECT id, total_tokens, item_count, created_at FROM batches
           WHERE completed_at IS NOT NULL AND (created_at > $1 OR (created_at = $1 AND id > $2))
           ORDER BY created_at, id LIMIT ${PAGE}`,
          [after.at, after.id],
        ),
      );
      for (const row of rows)
        yield { id: row.id, totalTokens: Number(row.total_tokens), itemCount: Number(row.item_count) };
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = { at: Number(last.created_at), id: last.id };
    }
  }

  itemsOf(batchId: string): Promise<ManifestItem[]> {
    return this.database.read(async (manager) => {
      const rows = await queryRows<
        Record<'path' | 'outcome', string> & Record<'revision' | 'part' | 'parts' | 'tokens', number>
      >(
        manager,
        `SELECT f.path, i.revision, i.part, i.parts, i.tokens, ${OUTCOME} AS outcome
         FROM batch_items i JOIN files f ON f.id = i.file_id
         JOIN analyses a ON a.file_id = i.file_id AND a.revision = i.revision AND a.part = i.part
         WHERE i.batch_id = $1 ORDER BY f.path, i.part`,
        [batchId],
      );
      return rows.map((row) => ({
        batchId,
        path: row.path,
        revision: Number(row.revision),
        part: Number(row.part),
        parts: Number(row.parts),
        tokens: Number(row.tokens),
        outcome: row.outcome,
      }));
    });
  }
}
