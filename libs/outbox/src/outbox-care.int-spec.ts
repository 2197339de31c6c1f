import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { queryRows, type Database } from '#database';
import { DATABASE_KINDS } from '#testing';
import {
  DeadEvents,
  EventClaims,
  outboxCounts,
  purgeInbox,
  purgeOutbox,
  UnconfirmedEvents,
  type NewEvent,
} from './index.js';
import { OutboxRig } from './outbox.fixture.js';

const HOUR = 3_600_000;

describe.each(DATABASE_KINDS)('care of the outbox on %s', (kind) => {
  let rig: OutboxRig;
  let database: Database;
  let unconfirmed: UnconfirmedEvents;

  beforeAll(async () => {
    rig = await OutboxRig.start(kind);
    database = rig.database;
    unconfirmed = new UnconfirmedEvents(database);
  });
  beforeEach(() => rig.empty());
  afterAll(() => rig.stop());

  const add = (...events: Partial<NewEvent>[]): Promise<string[]> => rig.add(...events);
  const sql = (text: string, params: unknown[] = []): Promise<number> => rig.sql(text, params);
  const ids = async (where = 'true'): Promise<string[]> => {
    const rows = await database.read((manager) =>
      queryRows<{ id: string }>(manager, `SELECT id FROM outbox WHERE ${where} ORDER BY id`),
    );
    return rows.map(({ id }) => id);
  };
  const publish = async (...events: Partial<NewEvent>[]): Promise<void> => {
    const added = await add(...events);
    const claims = new EventClaims(database);
    await claims.claim({ holder: 'p', limit: 1_000, leaseMs: HOUR });
    await claims.markPublishedIfClaimed('p', added, ['q']);
  };
  const receive = (id: string): Promise<number> =>
    sql("INSERT INTO inbox (consumer, event_id, received_at) VALUES ('c', $1, 1)", [id]);
  const deadLetter = (jobId: string, status: string, replayJobId: string | null = null): Promise<number> =>
    sql(
      `INSERT INTO dead_letters (queue, job_id, name, payload, reason, error_name, error_message, stack, fingerprint,
         attempts_made, last_worker_id, enqueued_at, failed_at, dead_lettered_at, status, replay_job_id)
       VALUES ('q', $1, 'n', '{}', 'error', 'E', 'm', 's', 'f', 1, 'w', 1, 1, 1, $2, $3)`,
      [jobId, status, replayJobId],
    );

  describe('unconfirmed events', () => {
    it('are walked page by page, oldest first, each once', async () => {
      await publish(...Array.from({ length: 25 }, () => ({})));
      const seen: string[] = [];
      for (let page = await unconfirmed.page(undefined, 10); page.length > 0;) {
        seen.push(...page.map(({ id }) => id));
        page = await unconfirmed.page(page.at(-1), 10);
      }
      expect(seen).toHaveLength(25);
      expect(new Set(seen).size).toBe(25);
    });

    it('leave the walk when an inbox has them or a dead letter answers for them', async () => {
      await publish(...['inbox', 'letter', 'redriven', 'refailed', 'open'].map((id) => ({ id })));
      await receive('inbox');
      await deadLetter('e-letter', 'open');
      await deadLetter('e-a', 'requeued', 'e-redriven');
      await deadLetter('e-b', 'open', 'e-refailed');
      const settled = await unconfirmed.settle(await ids());
      expect([...settled].toSorted()).toEqual(['inbox', 'letter', 'refailed']);
      expect((await unconfirmed.page(undefined, 10)).map(({ id }) => id).toSorted()).toEqual([
        'open',
        'redriven',
      ]);
    });

    it('count as confirmed when the batch that their payload names was received', async () => {
      await publish(
        { id: 'redrive', payload: { id: 'batch-7' } },
        { id: 'other', payload: { id: 'batch-8' } },
      );
      await receive('batch-7');
      expect([...(await unconfirmed.settleByPayload(['redrive', 'other']))]).toEqual(['redrive']);
    });

    it('are offered again under the same id, unless received or offered again meanwhile', async () => {
      await publish({ id: 'lost' }, { id: 'received' }, { id: 'raced' });
      const page = await unconfirmed.page(undefined, 10);
      await receive('received');
      await sql("UPDATE outbox SET republished = 1 WHERE id = 'raced'");
      expect(await unconfirmed.offerAgain(page)).toBe(1);
      expect(await ids("status = 'PENDING' AND republished = 1")).toEqual(['lost']);
    });
  });

  describe('purge', () => {
    const settled = new Map<string, string>([
      ['old', "status = 'PUBLISHED', published_at = 1, confirmed_at = 1"],
      ['unconfirmed', "status = 'PUBLISHED', published_at = 1, confirmed_at = NULL"],
      ['dead', "status = 'DEAD', created_at = 1"],
      ['pending', 'created_at = 1'],
    ]);

    it('removes only what was published and settled longer ago than the retention', async () => {
      await publish({ id: 'fresh' });
      await sql('UPDATE outbox SET confirmed_at = published_at');
      for (const [id, change] of settled) {
        await add({ id });
        await sql(`UPDATE outbox SET ${change} WHERE id = $1`, [id]);
      }
      expect(await purgeOutbox(database, HOUR, 100)).toBe(1);
      expect(await ids()).toEqual(['dead', 'fresh', 'pending', 'unconfirmed']);
    });

    it('keeps the event of a batch that is not delivered, however old', async () => {
      await publish({ id: 'delivered' }, { id: 'dead-lettered' });
      await sql('UPDATE outbox SET published_at = 1, confirmed_at = 1');
      for (const [id, completed] of [
        ['delivered', 2],
        ['dead-lettered', null],
      ])
        await sql(
          `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at, completed_at)
           VALUES ($1, 1, 1, 1, 'test', 1, $2)`,
          [id, completed],
        );
      expect(await purgeOutbox(database, HOUR, 100)).toBe(1);
      expect(await ids()).toEqual(['dead-lettered']);
    });

    it('removes no more than it was allowed at a time', async () => {
      await publish(...Array.from({ length: 7 }, () => ({})));
      await sql('UPDATE outbox SET published_at = 1, confirmed_at = 1');
      const purge = (): Promise<number> => purgeOutbox(database, HOUR, 5);
      expect([await purge(), await purge(), await purge()]).toEqual([5, 2, 0]);
    });

    it('keeps an inbox entry as long as its event is in the outbox', async () => {
      await add({ id: 'here' });
      await receive('here');
      await receive('gone');
      const purge = (): Promise<number> => purgeInbox(database, HOUR, 100);
      expect([await purge(), await purge()]).toEqual([1, 0]);
    });
  });

  describe('dead events', () => {
    beforeEach(async () => {
      await add(
        ...['1', '2', '3'].map((id) => ({ id, payload: { n: id } })),
        { id: '4', queue: 'r' },
        { id: 'alive' },
      );
      await sql(
        "UPDATE outbox SET status = 'DEAD', attempts = 10, last_error = 'poison' WHERE id <> 'alive'",
      );
    });

    it('are listed in pages and by queue, with the reason', async () => {
      const dead = new DeadEvents(database);
      const first = await dead.list({ limit: 3 });
      const rest = await dead.list({ limit: 3, after: first.at(-1) });
      expect([...first, ...rest].map(({ id }) => id)).toEqual(['1', '2', '3', '4']);
      expect((await dead.list({ limit: 9, queue: 'r' })).map(({ id }) => id)).toEqual(['4']);
      const get = (id: string): Promise<unknown> => database.inTransaction((tx) => dead.get(tx, id));
      expect(await get('1')).toMatchObject({ payload: '{"n":"1"}', attempts: 10, lastError: 'poison' });
      expect([await get('alive'), await dead.count()]).toEqual([null, 4]);
    });

    it('are offered again with all their attempts when requeued, in the transaction of the caller', async () => {
      const dead = new DeadEvents(database);
      await database
        .inTransaction(async (tx) => {
          await dead.requeue(tx, ['1']);
          throw new Error('audit failed');
        })
        .catch(() => {});
      expect(await dead.count()).toBe(4);
      expect(await database.inTransaction((tx) => dead.requeue(tx, ['1', '2', 'alive']))).toHaveLength(2);
      expect(await ids("status = 'PENDING' AND attempts = 0")).toEqual(['1', '2', 'alive']);
    });
  });

  it('counts what waits, what is dead, what is unconfirmed, and how old the oldest due event is', async () => {
    expect(await outboxCounts(database)).toEqual({
      pending: 0,
      dead: 0,
      unconfirmed: 0,
      oldestPendingAgeMs: 0,
    });
    await publish({});
    await add({ id: 'due' }, { id: 'later', availableAt: Date.now() + HOUR }, { id: 'dead' });
    await sql("UPDATE outbox SET status = 'DEAD' WHERE id = 'dead'");
    await sql(`UPDATE outbox SET created_at = created_at - ${HOUR} WHERE id = 'due'`);
    await sql("UPDATE outbox SET created_at = 1 WHERE id = 'later'");
    const counts = await outboxCounts(database);
    expect(counts).toMatchObject({ pending: 2, dead: 1, unconfirmed: 1 });
    expect(counts.oldestPendingAgeMs).toBeGreaterThanOrEqual(HOUR);
    expect(counts.oldestPendingAgeMs).toBeLessThan(2 * HOUR);
  });
});
