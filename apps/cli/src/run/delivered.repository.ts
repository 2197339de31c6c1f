import { queryOne, type Database } from '#database';

export interface Delivered {
  files: number;
  batches: number;
}

/** What was ever delivered. It only grows, whatever becomes of the files, so that a difference is what a run has done. */
export function deliveredSoFar(database: Database): Promise<Delivered> {
  return database.read(async (manager) => {
    const { files, batches } = await queryOne<Delivered>(
      manager,
      `SELECT (SELECT count(*) FROM analyses WHERE outcome = 'delivered' AND part = 1) AS files,
              (SELECT count(*) FROM batches WHERE completed_at IS NOT NULL) AS batches`,
    );
    return { files: Number(files), batches: Number(batches) };
  });
}
