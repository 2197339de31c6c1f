import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { folderDestination, httpDestination, type Destination } from '#contracts';
import type { PipelineRow } from '#database';
import { FORMATS } from '#envelope';
import { auditEntry } from '../audit.js';
import { CLI_EXIT, CliError, UsageError } from '../cli.errors.js';
import { tableOf, time } from '../output/table.js';
import { looking, pipelineName, type GlobalOptions, type Looked } from '../settings.js';

type PipelineOptions = GlobalOptions & { moveTo?: string; format?: string };

export function addPipeline(program: Command): void {
  program
    .command('pipeline')
    .summary('whose work the database holds and where it is delivered')
    .description(
      `A database holds the work of one pipeline, and a pipeline has one destination: files that were delivered there are not
sent again. With --move-to it delivers elsewhere from now on, for a folder or host that was moved: what was delivered before
counts as delivered. To deliver everything to a new place, run with another --out or --url instead. The change is audited.
Exit codes: 0 shown or moved, 64 wrong usage, 66 no database.`,
    )
    .option('--move-to <folder or address>', 'where the destination is now')
    .addOption(new Option('--format <format>', 'how batches are written there').choices([...FORMATS]))
    .addHelpText(
      'after',
      '\nExamples:\n  millrace pipeline\n  millrace pipeline --move-to https://new-host/batches\n  millrace --data ./state pipeline --move-to /mnt/new/out',
    )
    .action(looking(showOrMove, report));
}

/** The pipeline; with --move-to it delivers elsewhere, and who did so is written down in the same transaction. */
async function showOrMove(
  { database, data, databaseUrl }: Looked,
  options: PipelineOptions,
): Promise<PipelineRow> {
  const { AuditLog, movePipeline, PIPELINE_MOVED, readPipeline } = await import('#database');
  if (options.moveTo === undefined) return required(await database.read(readPipeline));
  const moved = await database.inTransaction(async (tx) => {
    const found = required(await readPipeline(tx));
    const destination = newDestination(options, found);
    await movePipeline(tx, destination);
    const facts = { before: { ...found.destination }, after: { ...destination } };
    await new AuditLog(database).append(tx, auditEntry(PIPELINE_MOVED, `pipeline:${found.id}`, facts));
    return { ...found, destination };
  });
  if (databaseUrl === data.databaseUrl)
    await data.writeCard({ id: moved.id, destination: moved.destination });
  return moved;
}

function required(row: PipelineRow | undefined): PipelineRow {
  if (row) return row;
  throw new CliError(
    'this database was not used by any pipeline yet; run `millrace run <directory>` first',
    CLI_EXIT.noInput,
  );
}

/** The same kind of place as before in the same format, unless said otherwise. */
function newDestination({ moveTo = '', format }: PipelineOptions, { destination }: PipelineRow): Destination {
  const before = destination?.sink === 'write' ? destination.format : 'markdown';
  if (!/^https?:\/\//.test(moveTo)) return folderDestination(resolve(moveTo), format ?? before);
  if (URL.canParse(moveTo)) return httpDestination(moveTo);
  throw new UsageError(`--move-to: found "${moveTo}", allowed is a folder or an http address`);
}

function report(row: PipelineRow): string {
  const columns = tableOf([row], {
    ID: 'id',
    SINK: ({ destination }) => destination?.sink,
    ADDRESS: ({ destination }) => destination?.address,
    FORMAT: ({ destination }) => destination?.format,
    SINCE: ({ createdAt }) => time(createdAt),
  });
  return `${pipelineName(row.id, row.destination)}\n${columns}`;
}
