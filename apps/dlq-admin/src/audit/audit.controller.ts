import { Query, Res } from '@nestjs/common';
import { Matches, ValidateIf } from 'class-validator';
import type { Response } from 'express';
import { AuditLog, HASHED_FIELDS, type AuditEntryEntity, type ChainReport } from '#database';
import type { AuditRow, Page } from '#dlq-client';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { between, Optional, Required, text, ToInteger } from '../http/field.js';
import { decodeCursor, pageOf, PageQuery } from '../http/field.js';
import { Reads, Routes } from '../http/route.js';

const HASH = /^(sealed:)?[0-9a-f]{64}$/;

class AuditQuery extends PageQuery {
  @Optional({ description: 'Only what was done to this, such as `letter:42`.' }, ...text(1, 200))
  target?: string;
}

const isAsked = ValidateIf(({ row, hash }: AnchorQuery) => row !== undefined || hash !== undefined);
const rowNumber = [ToInteger(), ...between(1, Number.MAX_SAFE_INTEGER)];

class AnchorQuery {
  @Required({ required: false, description: 'A row that was noted; with `hash`.' }, isAsked, ...rowNumber)
  row?: number;
  @Required({ required: false, description: 'The hash of that row.' }, isAsked, Matches(HASH))
  hash?: string;
}

const EXPORTED = [...HASHED_FIELDS, 'hash'] as const;

/** The audit log can be read and checked; nothing here changes it. */
@Routes('audit')
export class AuditController {
  constructor(private readonly audit: AuditLog) {}

  @Reads('', 'operator', 'Who did what, newest first.')
  async list(@CurrentCaller() caller: Caller, @Query() query: AuditQuery): Promise<Page<AuditRow>> {
    const rows = await this.rows(caller, query, query.limit + 1);
    return pageOf(rows.map(viewOf), query.limit, (row) => row);
  }

  @Reads('export', 'admin', 'A page of the audit log as CSV.')
  async export(
    @CurrentCaller() caller: Caller,
    @Query() query: AuditQuery,
    @Res() response: Response,
  ): Promise<void> {
    const rows = await this.rows(caller, query, query.limit);
    response
      .set({
        'Content-Type': 'text/csv; charset=utf-8',
        'Content-Disposition': 'attachment; filename="audit.csv"',
      })
      .send(csvOf(EXPORTED, rows));
  }

  @Reads(
    'verify',
    'admin',
    'Check the hash chain of the audit log; with a row and its hash as once logged or exported, also its end.',
  )
  verify(@Query() { row, hash }: AnchorQuery): Promise<ChainReport> {
    const anchor = row !== undefined && hash !== undefined ? { id: row, hash } : undefined;
    return this.audit.verifyChain(anchor);
  }

  private rows(caller: Caller, { cursor, target }: AuditQuery, limit: number): Promise<AuditEntryEntity[]> {
    const after = decodeCursor(cursor, 'number');
    // A key that sees some queues only must not learn of the others here.
    const own = caller.queues && { keyId: caller.keyId };
    const since = after && { before: Number(after.id) };
    return this.audit.list({ ...since, ...(target !== undefined && { target }), ...own }, limit);
  }
}

function viewOf({ previousHash: _, before, after, ...row }: AuditEntryEntity): AuditRow {
  const json = (text: string | null): unknown => (text === null ? null : (JSON.parse(text) as unknown));
  return { ...row, before: json(before), after: json(after) };
}

/** Rows as CSV (RFC 4180). What a spreadsheet would take for a formula is made a text by a leading quote. */
function csvOf<T extends object>(columns: readonly (keyof T & string)[], rows: readonly T[]): string {
  const line = (cells: readonly unknown[]): string => cells.map(csvCell).join(',');
  const lines = [line(columns), ...rows.map((row) => line(columns.map((column) => row[column])))];
  return `${lines.join('\r\n')}\r\n`;
}

export function csvCell(value: unknown): string {
  const text =
    typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
  const inert = /^[=+\-@\t\r\n\0]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return `"${inert.replaceAll('"', '""')}"`;
}
