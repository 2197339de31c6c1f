import { describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { emptyDatabase, startPgBouncer } from '#testing';
import { useRunRig } from './run-rig.js';

describe('a run through PgBouncer in transaction mode', () => {
  const rig = useRunRig();

  it('ends PROVEN, in its schema', async () => {
    for (let n = 0; n < 50; n++)
      await writeFile(join(rig.tree, `file-${n}.txt`), `text number ${n}\n`.repeat(20));
    const target = await emptyDatabase('postgres');
    const pooler = await startPgBouncer({ target: target.url });
    try {
      const run = rig.millrace(['-o', 'json', 'run', rig.tree, '--out', rig.out], {
        MILLRACE_DATABASE_URL: `${pooler.url}?schema=mill`,
      });
      const { proof } = await rig.succeed(run);
      expect(proof).toMatchObject({ verdict: 'proven', files: 50 });
      expect(await tables(target.url)).toEqual(['mill']);
    } finally {
      await pooler.stop();
      await target.remove();
    }
  });
});

/** The schemas that have a table of files. */
async function tables(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ schemaname: string }>(
    "SELECT schemaname FROM pg_tables WHERE tablename = 'files'",
  );
  await client.end();
  return rows.map(({ schemaname }) => schemaname);
}
