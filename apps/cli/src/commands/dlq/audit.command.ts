import type { Command } from 'commander';
import type { AuditRow } from '#dlq-client';
import { withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { addPagingOptions, pages, printPages, type PagingOptions } from '../../output/paged.js';
import { short, time, type Cell } from '../../output/table.js';

type AuditOptions = ConnectionOptions & PagingOptions & { target?: string };

const HEADER = ['NO', 'AT', 'ACTOR', 'ROLE', 'ACTION', 'TARGET', 'RESULT', 'REASON'];

export function addAudit(dlq: Command): void {
  const audit = dlq
    .command('audit')
    .summary('who did what, newest first')
    .option('--target <target>', 'only what was done to this, such as letter:42');
  addPagingOptions(audit).action((_: unknown, command: Command) => {
    const options = command.optsWithGlobals<AuditOptions>();
    const { target } = options;
    return withDlqAdmin(options, async (client) => {
      await printPages(
        options.output,
        pages((page) => client.audit({ ...page, target }), options),
        { header: HEADER, row: auditRow },
      );
    });
  });
}

function auditRow({ id, at, actor, role, action, target, result, reason }: AuditRow): Cell[] {
  return [
    String(id),
    time(at),
    short(actor, 40),
    role,
    action,
    short(target ?? '', 50),
    result,
    short(reason ?? '', 60),
  ];
}
