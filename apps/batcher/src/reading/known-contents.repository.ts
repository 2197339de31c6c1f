import { bulkQuery, hashIsOneOf, type Database } from '#database';

/** What the tables already know of contents: their tokens, and the files that were sent with them. */
export class KnownContents {
  constructor(
    private readonly database: Database,
    private readonly tokenizer: string,
  ) {}

  /** Tokens of the content, if it was counted before by the same tokenizer. */
  async tokensOf(hash: string): Promise<number | undefined> {
    const [row] = await this.database.read((manager) =>
      bulkQuery<{ tokens: number }>(
        manager,
        { columns: { hash: 'text' }, rows: [[hash]], alias: 'v', extra: [this.tokenizer] },
        (source, [tokenizer]) =>
          `SELECT c.tokens FROM ${source} JOIN token_counts c ON c.content_hash = v.hash AND c.tokenizer = ${tokenizer}`,
      ),
    );
    return row?.tokens;
  }

  /** A file with this content that was sent, or is on its way. */
  async sentFile(hash: string): Promise<number | undefined> {
    const [row] = await this.database.read((manager) =>
      bulkQuery<{ id: number }>(
        manager,
        { columns: { hash: 'text' }, rows: [[hash]], alias: 'v' },
        (source) => `SELECT f.id FROM ${source} JOIN files f ON ${hashIsOneOf('f.hash_value', ['v.hash'])}
          WHERE f.hash_algorithm = 'sha256' AND f.status IN ('batched', 'analyzed') AND f.removed = 0
          ORDER BY f.id LIMIT 1`,
      ),
    );
    return row?.id;
  }
}
