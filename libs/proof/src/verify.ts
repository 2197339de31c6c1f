import { createHash } from 'node:crypto';
import { AuditLog, bulkSelect, queryOne, queryRows, type Database, type EntityManager } from '#database';
import { CHECKS } from './checks.js';
import { countsOf, IN_FLIGHT, type FleetCounts } from './counts.js';
import { EXCEPTIONS } from './exceptions.js';
import { pages } from './pages.js';
import { scopesOf, type Scope } from './scope.js';

export interface CheckResult {
  name: string;
  promise: string;
  ok: boolean;
  /** How many rows break it; `rows` holds the first of them. */
  violations: number;
  rows: Record<string, unknown>[];
}

/** What the proof does not cover, for one cause; `rows` holds the first of `count`. */
export interface Exception {
  name: string;
  cause: string;
  cure: string;
  count: number;
  rows: { path: string; detail: string | null }[];
}

/**
 * - `violated`: a promise is broken.
 * - `in flight`: none is broken; something is still on its way.
 * - `proven except`: all is settled and proven but for the exceptions.
 * - `proven`: every file that the last scan saw was delivered once, or is left out by a rule or a stated reason.
 */
type Verdict = 'proven' | 'proven except' | 'in flight' | 'violated';

export interface Proof {
  verdict: Verdict;
  at: string;
  files: number;
  counts: FleetCounts;
  inFlight: number;
  checks: CheckResult[];
  exceptions: Exception[];
  /** The trees it speaks of, and the rules in force when they were scanned. */
  scopes: Scope[];
  /** sha256 over the state of every file: two equal digests are two equal outcomes. */
  digest: string;
}

const SHOWN_ROWS = 20;
const PAGE = 10_000;

interface DigestRow {
  id: number;
  [column: string]: string | number | null;
}
const DIGEST_COLUMNS = 'id path size revision status hash_value token_count skip_reason'.split(' ');

/** The proof from the tables, all of it as they were at one moment. Shows so many rows of each finding; counts are whole. */
export async function verify(database: Database, { rows = SHOWN_ROWS } = {}): Promise<Proof> {
  const audit = await auditCheck(database);
  return database.snapshot(async (manager) => {
    const counts = await countsOf(manager);
    const checks = [...(await each(CHECKS, (check) => runCheck(manager, check, rows))), audit];
    const exceptions = await each(EXCEPTIONS, (kind) => findExceptions(manager, kind, rows));
    const found = exceptions.filter(({ count }) => count > 0);
    const inFlight = inFlightOf(counts);
    return {
      verdict: verdictOf(checks, inFlight, found),
      at: new Date().toISOString(),
      files: Object.values(counts.files).reduce((sum, count) => sum + count, 0),
      counts,
      inFlight,
      checks,
      exceptions: found,
      scopes: await scopesOf(manager),
      digest: await digest(manager),
    };
  });
}

export function verdictOf(
  checks: readonly Pick<CheckResult, 'ok'>[],
  inFlight: number,
  exceptions: readonly unknown[],
): Verdict {
  if (checks.some(({ ok }) => !ok)) return 'violated';
  if (inFlight > 0) return 'in flight';
  return exceptions.length > 0 ? 'proven except' : 'proven';
}

function inFlightOf({ files, eventsPending, scansUnfinished }: FleetCounts): number {
  return IN_FLIGHT.reduce((sum, status) => sum + (files[status] ?? 0), 0) + eventsPending + scansUnfinished;
}

async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

async function runCheck(
  manager: EntityManager,
  { name, promise, violations: sql }: (typeof CHECKS)[number],
  limit: number,
): Promise<CheckResult> {
  const violations = await countOf(manager, sql);
  const rows =
    violations === 0 ? [] : await queryRows<Record<string, unknown>>(manager, `${sql} LIMIT ${limit}`);
  return { name, promise, ok: violations === 0, violations, rows };
}

async function findExceptions(
  manager: EntityManager,
  { name, cause, cure, found }: (typeof EXCEPTIONS)[number],
  limit: number,
): Promise<Exception> {
  const count = await countOf(manager, found);
  const rows =
    count === 0 ? [] : await queryRows<Exception['rows'][number]>(manager, `${found} LIMIT ${limit}`);
  return { name, cause, cure, count, rows };
}

async function countOf(manager: EntityManager, sql: string): Promise<number> {
  return (await queryOne<{ n: number }>(manager, `SELECT count(*) AS n FROM (${sql}) AS found`)).n;
}

async function auditCheck(database: Database): Promise<CheckResult> {
  const report = await new AuditLog(database).verifyChain();
  const rows = report.state === 'intact' ? [] : [{ ...report }];
  return {
    name: 'audit-chain',
    promise: 'no row of the audit log was changed or cut out',
    ok: rows.length === 0,
    violations: rows.length,
    rows,
  };
}

/** Pages through the files by id, so that memory stays flat however many there are. */
async function digest(manager: EntityManager): Promise<string> {
  const hash = createHash('sha256');
  const tail = `FROM files WHERE id > $1 AND removed = 0 ORDER BY id LIMIT ${PAGE}`;
  const page = async (after: number): Promise<DigestRow[]> =>
    (await bulkSelect<DigestRow>(manager, DIGEST_COLUMNS, tail, [after])).sort((a, b) => a.id - b.id);
  for await (const rows of pages(page, 0, PAGE))
    hash.update(rows.map((row) => `${JSON.stringify(Object.values(row))}\n`).join(''));
  return hash.digest('hex');
}
