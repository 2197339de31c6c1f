import { bulkInsert, execute, queryRows, type Database, type EntityManager } from '#database';
import { indexLetters } from '../apps/dlq-admin/src/ingest/letter-records.repository.js';

export const GROUPS = 300;
export const WORKERS = 40;
const SEED_CHUNK = 2_000;

const LETTER_COLUMNS = {
  queue: 'text',
  job_id: 'text',
  name: 'text',
  payload: 'text',
  reason: 'text',
  error_name: 'text',
  error_message: 'text',
  stack: 'text',
  fingerprint: 'text',
  attempts_made: 'int',
  last_worker_id: 'text',
  enqueued_at: 'int',
  failed_at: 'int',
  dead_lettered_at: 'int',
  status: 'text',
} as const;

function row(n: number, base: number): (string | number)[] {
  const group = n % GROUPS;
  const payload = JSON.stringify({
    order: { id: `order-${n}`, customer: `customer-${n % 50_000}` },
    path: `/data/in/${n % 977}/file-${n}.csv`,
    size: n * 7,
  });
  const message = `cannot read /data/in/file-${n}.csv after ${n % 1_000} ms`;
  const name = `Error${group}`;
  const at = base + n;
  return [
    `queue-${n % 12}`,
    `f-${n}-1`,
    'file job',
    payload,
    'error',
    name,
    message,
    `${name}: ${message}\n${'    at frame (/srv/apps/x/src/a.js:1:1)\n'.repeat(12)}`,
    `fingerprint${String(group).padStart(6, '0')}`,
    5,
    `worker-${n % WORKERS}`,
    at,
    at,
    at,
    n % 5 === 0 ? 'discarded' : 'open',
  ];
}

const textOf = (row: readonly (string | number)[]): string =>
  `${row[1]}\n${row[2]}\n${row[5]}: ${row[6]}\n${row[3]}`.toLowerCase();

/** So many letters of 300 causes, four of five open, one a millisecond until now. */
export async function seedLetters(database: Database, size: number): Promise<void> {
  const base = Date.now() - size;
  for (let from = 0; from < size; from += SEED_CHUNK)
    await database.inTransaction(async (tx) => {
      const rows = Array.from({ length: Math.min(SEED_CHUNK, size - from) }, (_, index) =>
        row(from + index, base),
      );
      await bulkInsert(tx, { table: 'dead_letters', columns: LETTER_COLUMNS, rows });
      const ids = await newIds(tx, from);
      await indexLetters(
        tx,
        ids.map((id, index) => ({ letterId: id, text: textOf(rows[index] ?? []) })),
      );
    });
  await database.inTransaction(async (tx) => {
    const counts = "count(*), count(CASE WHEN status = 'open' THEN 1 END)";
    await execute(
      tx,
      `INSERT INTO dead_letter_groups (fingerprint, error_name, message, frame, first_seen_at, last_seen_at, total, open)
       SELECT fingerprint, min(error_name), 'cannot read <path> after # ms', 'frame (apps/x/src/a.js)', min(dead_lettered_at), max(dead_lettered_at), ${counts} FROM dead_letters GROUP BY fingerprint`,
    );
    await execute(
      tx,
      `INSERT INTO dead_letter_tallies SELECT fingerprint, queue, last_worker_id, ${counts}, max(dead_lettered_at) FROM dead_letters GROUP BY fingerprint, queue, last_worker_id`,
    );
    await execute(
      tx,
      'INSERT INTO dead_letter_hours SELECT fingerprint, queue, dead_lettered_at / 3600000, count(*) FROM dead_letters GROUP BY 1, 2, 3',
    );
  });
  if (database.dialect === 'postgres') await database.read((manager) => manager.query('ANALYZE'));
}

const newIds = async (tx: EntityManager, from: number): Promise<number[]> =>
  (await queryRows<{ id: number }>(tx, 'SELECT id FROM dead_letters WHERE id > $1 ORDER BY id', [from])).map(
    ({ id }) => id,
  );
