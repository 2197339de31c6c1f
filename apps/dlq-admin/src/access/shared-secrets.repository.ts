import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, execute, queryOne } from '#database';

/** Secrets that every replica must know and nobody outside: made at first use, kept in the database. */
@Injectable()
export class SharedSecrets {
  private readonly known = new Map<string, string>();

  constructor(private readonly database: Database) {}

  async of(name: string, now: number): Promise<string> {
    const known = this.known.get(name) ?? (await this.read(name, now));
    this.known.set(name, known);
    return known;
  }

  private read(name: string, now: number): Promise<string> {
    return this.database.inTransaction(async (tx) => {
      await execute(
        tx,
        'INSERT INTO shared_secrets (name, value, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING',
        [name, randomBytes(32).toString('base64url'), now],
      );
      const { value } = await queryOne<{ value: string }>(
        tx,
        'SELECT value FROM shared_secrets WHERE name = $1',
        [name],
      );
      return value;
    });
  }
}
