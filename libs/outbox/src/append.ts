import { bulkQuery, databaseNow, dialectOf, OutboxEventEntity, typesOf, type EntityManager } from '#database';
import { currentTrace } from '#service';
import { newEventId } from './event-id.js';
import { serialize, type NewEvent } from './event.js';
import { noTransaction } from './outbox.errors.js';
import { NOTIFY } from './postgres-wake-up.js';

const COLUMNS = typesOf(OutboxEventEntity, [
  ...(['id', 'queue', 'eventName', 'payload', 'jobOptions', 'orderingKey', 'availableAt', 'trace'] as const),
]);
const NAMES = Object.keys(COLUMNS);

/**
 * Writes an event in the caller's transaction: it is published if and only if that transaction commits. Returns its id.
 * Throws OUTBOX_NO_TRANSACTION outside a transaction and OUTBOX_INVALID_EVENT for what could never be published.
 */
export async function append(tx: EntityManager, event: NewEvent): Promise<string> {
  const [id] = await appendAll(tx, [event]);
  return id as string;
}

/** Writes many events with few statements, all or none. Returns their ids in the order given. */
export async function appendAll(tx: EntityManager, events: readonly NewEvent[]): Promise<string[]> {
  requireTransaction(tx, 'append');
  const rows = events.map(toRow);
  const unordered = rows.filter(({ key }) => key === null);
  await insert(tx, unordered, databaseNow(tx));
  // One statement each: a row sees the rows of its key that earlier statements wrote, not those of its own.
  for (const row of rows) if (row.key !== null) await insert(tx, [row], afterItsKey(tx));
  return rows.map(({ id }) => id);
}

export function requireTransaction(tx: EntityManager, operation: string): void {
  if (!tx.queryRunner?.isTransactionActive) throw noTransaction(operation);
}

interface Row {
  id: string;
  key: string | null;
  values: (string | number | null)[];
}

function toRow(event: NewEvent): Row {
  const id = event.id ?? newEventId();
  const key = event.orderingKey ?? null;
  const { payload, jobOptions } = serialize(id, event);
  const trace = event.trace ?? currentTrace() ?? null;
  // 0 is "at once" by every clock: a writer whose clock is ahead does not delay its events.
  const availableAt = event.availableAt ?? 0;
  const name = event.eventName ?? event.queue;
  return { id, key, values: [id, event.queue, name, payload, jobOptions, key, availableAt, trace] };
}

async function insert(tx: EntityManager, rows: readonly Row[], createdAt: string): Promise<void> {
  const picked = NAMES.map((name) => `v.${name}`).join(', ');
  const set = { columns: COLUMNS, alias: 'v', rows: rows.map(({ values }) => values) };
  await bulkQuery(tx, set, (source) => {
    const insertion = `INSERT INTO outbox (${NAMES.join(', ')}, created_at) SELECT ${picked}, ${createdAt} FROM ${source}`;
    // Wakes publishers at commit, without a second round trip. Identical notices of a transaction are one.
    return dialectOf(tx) === 'postgres' ? `WITH added AS (${insertion}) ${NOTIFY}` : insertion;
  });
}

/** Later than what is pending of the same key, whatever the clock says: events of a key sort as they were appended. */
function afterItsKey(tx: EntityManager): string {
  const latest = dialectOf(tx) === 'postgres' ? 'GREATEST' : 'max';
  return `${latest}(${databaseNow(tx)}, coalesce((
    SELECT max(p.created_at) + 1 FROM outbox p WHERE p.status = 'PENDING' AND p.ordering_key = v.ordering_key), 0))`;
}
