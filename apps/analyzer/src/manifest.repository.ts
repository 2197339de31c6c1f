import { bulkQuery, dialectOf, queryRows, SUPERSEDED, type Database } from '#database';
import { jsonRows } from './open-batches.repository.js';

interface ManifestItem {
  path: string;
  revision: number;
  part: number;
  parts: number;
  tokens: number;
  /** `superseded`: it was sent before its file changed, and follows whole as a later revision. */
  outcome: 'delivered' | 'stale' | 'superseded';
}

export interface ManifestBatch {
  id: string;
  totalTokens: number;
  itemCount: number;
  items: ManifestItem[];
}

interface BatchRow {
  id: string;
  total_tokens: number;
  item_count: number;
  created_at: number;
}

const PAGE = 1_000;
const ITEMS_PER_QUERY = 10_000;

const FIELDS: Record<keyof ManifestItem, string> = {
  ...{ path: 'f.path', revision: 'i.revision', part: 'i.part', parts: 'i.parts', tokens: 'i.tokens' },
  outcome: `CASE WHEN i.parts > 1 AND a.outcome = 'delivered' AND ${SUPERSEDED} THEN 'superseded' ELSE a.outcome END`,
};

const ITEMS = `batch_items i JOIN files f ON f.id = i.file_id
  JOIN analyses a ON a.file_id = i.file_id AND a.revision = i.revision AND a.part = i.part WHERE i.batch_id = v.id`;

/** Delivered batches in the order in which they were packed, with their items; paged, so that memory stays flat. */
export class ManifestRepository {
  constructor(private readonly database: Database) {}

  async *batches(): AsyncGenerator<ManifestBatch> {
    for await (const page of this.pages())
      for (const group of groupsOf(page)) {
        const items = await this.itemsOf(group.map(({ id }) => id));
        for (const { id, total_tokens, item_count } of group)
          yield { id, totalTokens: total_tokens, itemCount: item_count, items: items.get(id) ?? [] };
      }
  }

  private async *pages(): AsyncGenerator<BatchRow[]> {
    for (let after = { created_at: 0, id: '' }; ;) {
      const page = await this.database.read((manager) =>
        queryRows<BatchRow>(
          manager,
          `SELECT id, total_tokens, item_count, created_at FROM batches
           WHERE completed_at IS NOT NULL AND (created_at > $1 OR (created_at = $1 AND id > $2))
           ORDER BY created_at, id LIMIT ${PAGE}`,
          [after.created_at, after.id],
        ),
      );
      yield page;
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      after = last;
    }
  }

  private async itemsOf(ids: readonly string[]): Promise<Map<string, ManifestItem[]>> {
    const rows = await this.database.read((manager) =>
      bulkQuery<{ id: string; items: string }>(
        manager,
        { columns: { id: 'text' }, rows: ids.map((id) => [id]), alias: 'v' },
        (source) => `SELECT v.id, ${jsonRows(dialectOf(manager), FIELDS, ITEMS)} AS items FROM ${source}`,
      ),
    );
    return new Map(
      rows.map(({ id, items: json }) => {
        const items = JSON.parse(json) as ManifestItem[];
        items.sort((a, b) => Number(a.path > b.path) - Number(a.path < b.path) || a.part - b.part);
        return [id, items];
      }),
    );
  }
}

/** So many batches at a time that their items fit into memory with ease. */
function* groupsOf(page: readonly BatchRow[]): Generator<BatchRow[]> {
  let group: BatchRow[] = [];
  let items = 0;
  for (const row of page) {
    if (group.length > 0 && items + row.item_count > ITEMS_PER_QUERY) {
      yield group;
      [group, items] = [[], 0];
    }
    group.push(row);
    items += row.item_count;
  }
  if (group.length > 0) yield group;
}
