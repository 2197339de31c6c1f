import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { folderDestination, httpDestination, type Destination } from '#contracts';
import type { PipelineRow } from '#database';
import { FORMATS } from '#envelope';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { json, plain, table, time } from '../output/table.js';
import { pipelineName, placesOf, withDatabase, type GlobalOptions, type Places } from '../settings.js';

interface PipelineOptions extends GlobalOptions {
  moveTo?: string;
  format?: string;
}

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
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<PipelineOptions>();
      const places = await placesOf(options);
      const row = await withDatabase(places, async (database) => {
        const { movePipelineAudited, shownPipeline } = await import('../pipeline/move.js');
        return options.moveTo === undefined
          ? shownPipeline(database)
          : movePipelineAudited(database, (found) => movedTo(options, found));
      });
      if (options.moveTo !== undefined) await renewCard(row, places);
      process.stdout.write(options.output === 'json' ? json(row) : report(row));
    });
}

/** The same kind of place as before in the same format, unless said otherwise. */
function movedTo({ moveTo = '', format }: PipelineOptions, { destination }: PipelineRow): Destination {
  if (!/^https?:\/\//.test(moveTo))
    return folderDestination(
      resolve(moveTo),
      format ?? (destination?.sink === 'write' ? destination.format : 'markdown'),
    );
  if (URL.canParse(moveTo)) return httpDestination(moveTo);
  throw new CliError(`--move-to: found "${moveTo}", allowed is a folder or an http address`, CLI_EXIT.usage);
}

async function renewCard({ id, destination }: PipelineRow, { data, databaseUrl }: Places): Promise<void> {
  if (destination && databaseUrl === data.databaseUrl) await data.writeCard({ id, destination });
}

function report(row: PipelineRow): string {
  const { id, destination, createdAt } = row;
  return `${pipelineName(id, destination)}\n${table(
    ['ID', 'SINK', 'ADDRESS', 'FORMAT', 'SINCE'],
    [
      [
        id,
        destination?.sink ?? '',
        plain(destination?.address ?? ''),
        destination?.format ?? '',
        time(createdAt),
      ],
    ],
  )}`;
}
