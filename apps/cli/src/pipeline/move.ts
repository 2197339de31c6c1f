import {
  AuditLog,
  movePipeline,
  PIPELINE_MOVED,
  readPipeline,
  type Database,
  type PipelineRow,
} from '#database';
import type { Destination } from '#contracts';
import { actor } from '../actor.js';
import { CLI_EXIT, CliError } from '../cli.errors.js';

export async function shownPipeline(database: Database): Promise<PipelineRow> {
  return required(await database.read(readPipeline));
}

/** Makes the pipeline deliver elsewhere, and writes down who did so in the same transaction. */
export function movePipelineAudited(
  database: Database,
  to: (found: PipelineRow) => Destination,
): Promise<PipelineRow> {
  return database.inTransaction(async (tx) => {
    const found = required(await readPipeline(tx));
    const destination = to(found);
    await movePipeline(tx, destination);
    await new AuditLog(database).append(tx, {
      at: Date.now(),
      actor: actor(),
      role: 'admin',
      action: PIPELINE_MOVED,
      target: `pipeline:${found.id}`,
      before: { ...found.destination },
      after: { ...destination },
      result: 'ok',
    });
    return { ...found, destination };
  });
}

function required(row: PipelineRow | undefined): PipelineRow {
  if (row) return row;
  throw new CliError(
    'this database was not used by any pipeline yet; run `millrace run <directory>` first',
    CLI_EXIT.noInput,
  );
}
