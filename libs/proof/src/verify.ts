import { createHash } from 'node:crypto';
import { AuditLog, queryRows, type Database, type EntityManager } from '#database';
import { IN_FLIGHT, readCounts, type FleetCounts } from './counts.js';
import { CHECKS } from './checks.js';

export interface CheckResult {
  name: string;
  promise: string;
  ok: boolean;
  /** How many rows break it; `rows` holds the first of them. */
  violations: number;
  rows: Record<string, unknown>[];
}

export type Verdict = 'proven' | 'in flight' | 'violated';

export interface Proof {
  verdict: Verdict;
  at: string;
  files: number;
  counts: FleetCounts;
  inFlight: number;
  checks: CheckResult[];
  /** sha256 over the state of every file and batch: two equal digests are two equal outcomes. */
  digest: string;
}

const SHOWN_ROWS = 20;
const PAGE = 10_000;

/** The proof, from the tables alone: what was promised, whether it holds, and what is still on its way. */
export async function verify(database: Database): Promise<Proof> {
  const counts = await readCounts(database);
  const checks = await database.snapshot(async (manager) => {
    const results: CheckResult[] = [];
    for (const check of CHECKS) results.push(await run(manager, check));
    return results;
  });
  checks.push(await auditCheck(database));
  const inFlight =
    IN_FLIGHT.reduce((sum, status) => sum + (counts.files[status] ?? 0), 0) +
    counts.eventsPending +
    counts.scansUnfinished;
  const violated = checks.some(({ ok }) => !ok);
  return {
    verdict: violated ? 'violated' : inFlight > 0 ? 'in flight' : 'proven',
    at: new Date().toISOString(),
    files: Object.values(counts.files).reduce((sum, count) => sum + count, 0),
    counts,
    inFlight,
    checks,
    digest: await digest(database),
  };
}

async function run(
  manager: EntityManager,
  { name, promise, violations }: (typeof CHECKS)[number],
): Promise<CheckResult> {
  const [count] = await queryRows<{ n: number }>(
    manager,
    `SELECT count(*) AS n FROM (${violations}) AS broken`,
  );
  const found = Number(count?.n ?? 0);
  const rows =
    found === 0 ? [] : await queryRows<Record<string, unknown>>(manager, `${violations} LIMIT ${SHOWN_ROWS}`);
  return { name, promise, ok: found === 0, violations: found, rows };
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
async function digest(database: Database): Promise<string> {
  const hash = createHash('sha256');
  for (let after = 0; ;) {
    const rows = await database.read((manager) =>
      queryRows<{ id: number; path: string }>(
        manager,
        `SELECT f.id, f.path, f.size, f.revision, f.status, f.hash_value, f.token_count, f.skip_reason
         FROM files f WHERE f.id > $1 AND f.removed = 0 ORDER BY f.id LIMIT ${PAGE}`,
        [after],
      ),
    );
    for (const row of rows) hash.update(`${JSON.stringify(Object.values(row))}\n`);
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return hash.digest('hex');
    after = Number(last.id);
  }
}
