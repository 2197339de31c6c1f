import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { sameDestination, type Destination } from '#contracts';
import type { PipelineMark, Service } from '#service';
import { pipelineMismatch } from './database.errors.js';
import type { Database } from './database.service.js';
import { AuditEntryEntity } from './entities/access.entity.js';
import { PipelineEntity } from './entities/message.entity.js';
import { claimOutput } from './output-owner.js';
import { execute } from './query.js';

/** Whose work a database holds, and where it goes. */
export interface PipelineRow {
  id: string;
  /** Undefined until a process that knows it was started on the database. */
  destination: Destination | undefined;
  createdAt: number;
}

// 48 random bits tell the pipelines of one Redis apart; every key carries them.
const MARK_DIGITS = 12;

/**
 * Which pipeline this process works for: that of its database. It starts right after the database and before anything
 * that holds keys in Redis. A process that is configured for another destination ends here, before any work, with exit code 78.
 */
export class Pipeline implements Service, PipelineMark {
  readonly name = 'pipeline';
  private joined: PipelineRow | undefined;

  constructor(
    private readonly database: Database,
    private readonly destination?: Destination,
  ) {}

  async start(): Promise<void> {
    this.joined ??= await joinPipeline(this.database, this.destination);
    if (this.destination?.sink === 'write')
      await claimOutput(this.destination.address, {
        pipeline: this.joined.id,
        database: this.database.place,
      });
  }

  async stop(): Promise<void> {}

  get row(): PipelineRow {
    if (!this.joined) throw new Error('the pipeline is not known before it was started');
    return this.joined;
  }

  /** What the names of this pipeline's keys in Redis begin with, so that pipelines on one Redis never meet. */
  prefixed(base: string): string {
    return pipelinePrefix(base, this.row.id);
  }
}

export function pipelinePrefix(base: string, id: string): string {
  return `${base}${base.endsWith(':') ? '' : ':'}${id.replaceAll('-', '').slice(0, MARK_DIGITS)}`;
}

const ONLY_ROW = { onlyRow: 1 };
/** What the audit log calls a move. */
export const PIPELINE_MOVED = 'pipeline.move';

/** The row, if the database was ever used. */
export async function readPipeline(manager: EntityManager): Promise<PipelineRow | undefined> {
  const row = await manager.findOneBy(PipelineEntity, ONLY_ROW);
  return row ? { id: row.id, destination: destinationOf(row), createdAt: row.createdAt } : undefined;
}

/**
 * The pipeline of this database, begun when there is none yet. One statement makes the row or fills its open destination,
 * so that of many processes that start at once, one decides. Throws PIPELINE_MISMATCH when it delivers elsewhere.
 */
export async function joinPipeline(database: Database, wanted?: Destination): Promise<PipelineRow> {
  const found = await database.read(readPipeline);
  const row = found && (found.destination || !wanted) ? found : await beginPipeline(database, wanted);
  if (wanted && row.destination && !sameDestination(row.destination, wanted))
    throw pipelineMismatch(row.id, row.destination, wanted);
  return row;
}

async function beginPipeline(database: Database, wanted?: Destination): Promise<PipelineRow> {
  return database.inTransaction(async (tx) => {
    await execute(
      tx,
      `INSERT INTO pipeline (only_row, id, sink, address, format, created_at) VALUES (1, $1, $2, $3, $4, $5)
       ON CONFLICT (only_row) DO UPDATE SET sink = excluded.sink, address = excluded.address, format = excluded.format
       WHERE pipeline.sink IS NULL`,
      [randomUUID(), wanted?.sink, wanted?.address, wanted?.format, Date.now()],
    );
    return (await readPipeline(tx))!;
  });
}

/** Makes the pipeline deliver elsewhere from now on. The caller audits it in the same transaction. */
export async function movePipeline(tx: EntityManager, to: Destination): Promise<void> {
  await tx.update(PipelineEntity, ONLY_ROW, to);
}

/** Folders that it was moved from, as the audit log tells. */
export async function formerFolders(manager: EntityManager): Promise<string[]> {
  const moves = await manager.findBy(AuditEntryEntity, { action: PIPELINE_MOVED });
  const before = moves.map((row) => JSON.parse(row.before ?? '{}') as Partial<Destination>);
  return before.flatMap(({ sink, address }) => (sink === 'write' && address !== undefined ? [address] : []));
}

function destinationOf({ sink, address, format }: PipelineEntity): Destination | undefined {
  return sink === null ? undefined : { sink, address: address ?? '', format: format ?? '' };
}
