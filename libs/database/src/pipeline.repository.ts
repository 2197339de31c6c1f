import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { sameDestination, type Destination } from '#contracts';
import type { Database } from './database.service.js';
import { PipelineMismatchError } from './database.errors.js';
import { execute, queryRows } from './query.js';

/** Whose work a database holds, and where it goes. */
export interface PipelineRow {
  id: string;
  /** Undefined until a process that knows it was started on the database. */
  destination: Destination | undefined;
  createdAt: number;
}

interface StoredPipeline {
  id: string;
  sink: Destination['sink'] | null;
  address: string | null;
  format: string | null;
  created_at: number;
}

/** The row, if the database was ever used. */
export async function readPipeline(manager: EntityManager): Promise<PipelineRow | undefined> {
  const [row] = await queryRows<StoredPipeline>(
    manager,
    'SELECT id, sink, address, format, created_at FROM pipeline',
  );
  return row && { id: row.id, destination: destinationOf(row), createdAt: Number(row.created_at) };
}

/**
 * The pipeline of this database, begun when there is none yet. One statement makes the row or fills its open destination,
 * so that of many processes that start at once, one decides. Throws PipelineMismatchError when it delivers elsewhere.
 */
export async function joinPipeline(database: Database, wanted?: Destination): Promise<PipelineRow> {
  const found = await database.read(readPipeline);
  const row = found && (found.destination || !wanted) ? found : await beginPipeline(database, wanted);
  if (wanted && row.destination && !sameDestination(row.destination, wanted))
    throw new PipelineMismatchError(row.id, row.destination, wanted);
  return row;
}

async function beginPipeline(database: Database, wanted?: Destination): Promise<PipelineRow> {
  return database.inTransaction(async (tx) => {
    await execute(
      tx,
      `INSERT INTO pipeline (only_row, id, sink, address, format, created_at) VALUES (1, $1, $2, $3, $4, $5)
       ON CONFLICT (only_row) DO UPDATE SET sink = excluded.sink, address = excluded.address, format = excluded.format
       WHERE pipeline.sink IS NULL`,
      [randomUUID(), ...columns(wanted), Date.now()],
    );
    return (await readPipeline(tx))!;
  });
}

/** Makes the pipeline deliver elsewhere from now on. The caller audits it in the same transaction. */
export async function movePipeline(tx: EntityManager, to: Destination): Promise<void> {
  await execute(tx, 'UPDATE pipeline SET sink = $1, address = $2, format = $3', columns(to));
}

function columns(destination: Destination | undefined): (string | null)[] {
  return destination ? [destination.sink, destination.address, destination.format] : [null, null, null];
}

function destinationOf({ sink, address, format }: StoredPipeline): Destination | undefined {
  return sink === null ? undefined : { sink, address: address ?? '', format: format ?? '' };
}
