import { createHash } from 'node:crypto';
import { AuditLog, bulkSelect, queryOne, queryRows, type Database, type EntityManager } from '#database';
import { asCheck, CHECKS, EXCEPTIONS } from './checks.js';
import type { CheckResult, Exception, Found, PathDetail } from './checks.js';
import { countsOf, type FleetCounts } from './counts.js';
import { pages, readAhead } from './pages.js';

/** A tree that the proof speaks of: when it was last seen whole, under which rules, and what these left out. */
export interface Scope {
  root: string;
  scannedAt: string | null;
  rules: Record<string, unknown>;
  /** Entries that a rule left out of the last scan, by reason. */
  leftOut: Record<string, number>;
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

const IN_FLIGHT = ['pending', 'processing', 'batched'];
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
    const checks = [...(await runChecks(manager, rows)), audit];
    const exceptions = await findExceptions(manager, rows);
    const { files, eventsPending, scansUnfinished } = counts;
    const unsettled = IN_FLIGHT.reduce((sum, status) => sum + (files[status] ?? 0), 0);
    const inFlight = unsettled + eventsPending + scansUnfinished;
    return {
      verdict: verdictOf(checks, inFlight, exceptions),
      at: new Date().toISOString(),
      files: Object.values(files).reduce((sum, count) => sum + count, 0),
      counts,
      inFlight,
      checks,
      exceptions,
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

async function runChecks(manager: EntityManager, limit: number): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { name, promise, violations } of CHECKS)
    results.push(asCheck(await find(manager, violations, limit), name, promise));
  return results;
}

async function findExceptions(manager: EntityManager, limit: number): Promise<Exception[]> {
  const exceptions: Exception[] = [];
  for (const { found, ...kind } of EXCEPTIONS)
    exceptions.push({ ...kind, ...(await find<PathDetail>(manager, found, limit)) });
  return exceptions.filter(({ count }) => count > 0);
}

async function find<Row extends object>(
  manager: EntityManager,
  sql: string,
  limit: number,
): Promise<Found<Row>> {
  const all = `SELECT count(*) AS count FROM (${sql}) AS found`;
  const { count } = await queryOne<{ count: number }>(manager, all);
  return { count, rows: count === 0 ? [] : await queryRows<Row>(manager, `${sql} LIMIT ${limit}`) };
}

async function auditCheck(database: Database): Promise<CheckResult> {
  const report = await new AuditLog(database).verifyChain();
  const rows = report.state === 'intact' ? [] : [{ ...report }];
  const promise = 'no row of the audit log was changed or cut out';
  return asCheck({ count: rows.length, rows }, 'audit-chain', promise);
}

/** Pages through the files by id, so that memory stays flat however many there are. */
async function digest(manager: EntityManager): Promise<string> {
  const hash = createHash('sha256');
  const tail = `FROM files WHERE id > $1 AND removed = 0 ORDER BY id LIMIT ${PAGE}`;
  const page = async (after: number): Promise<DigestRow[]> =>
    (await bulkSelect<DigestRow>(manager, DIGEST_COLUMNS, tail, [after])).sort((a, b) => a.id - b.id);
  for await (const rows of readAhead(pages(page, 0, PAGE)))
    hash.update(rows.map((row) => `${JSON.stringify(Object.values(row))}\n`).join(''));
  return hash.digest('hex');
}

async function scopesOf(manager: EntityManager): Promise<Scope[]> {
  const rows = await queryRows<
    Record<'root' | 'rules', string> & { at: number | null; counters: string | null }
  >(
    manager,
    `SELECT r.path AS root, r.rules, s.finished_at AS at, s.counters FROM roots r
     LEFT JOIN scans s ON s.id = (SELECT max(id) FROM scans WHERE root_id = r.id AND outcome = 'completed')
     ORDER BY r.id`,
  );
  return rows.map(({ root, rules, at, counters }) => ({
    root,
    scannedAt: at === null ? null : new Date(at).toISOString(),
    rules: JSON.parse(rules) as Record<string, unknown>,
    leftOut: (JSON.parse(counters ?? '{}') as { leftOut?: Record<string, number> }).leftOut ?? {},
  }));
}
