import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, SharedSecretEntity } from '#database';

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
      const secrets = tx.getRepository(SharedSecretEntity);
      const made = { name, value: randomBytes(32).toString('base64url'), createdAt: now };
      await secrets.createQueryBuilder().insert().values(made).orIgnore().execute();
      const { value } = await secrets.findOneByOrFail({ name });
      return value;
    });
  }
}
