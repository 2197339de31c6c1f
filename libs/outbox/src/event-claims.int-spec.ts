import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { queryRows, Database } from '#database';
import { Metrics, silentLogger } from '#service';
import { DATABASE_KINDS, eventually } from '#testing';
import { claimSql, walkTheIndex } from './event-claims.repository.js';
import { append, EventClaims, type ClaimedEvent, type NewEvent } from './index.js';
import { OutboxRig } from './outbox.fixture.js';

const LEASE_MS = 60_000;
const SETTLED: string[] = [];

describe.each(DATABASE_KINDS)('event claims on %s', (kind) => {
  let rig: OutboxRig;
  let database: Database;
  let claims: EventClaims;

  beforeAll(async () => {
    rig = await OutboxRig.start(kind);
    database = rig.database;
    claims = new EventClaims(database);
  });
  beforeEach(() => rig.empty());
  afterAll(() => rig.stop());

  const add = (...events: Partial<NewEvent>[]): Promise<string[]> => rig.add(...events);
  const sql = (text: string, params: unknown[] = []): Promise<number> => rig.sql(text, params);
  const claim = (holder: string, limit = 100, leaseMs = LEASE_MS): Promise<ClaimedEvent[]> =>
    claims.claim({ holder, limit, leaseMs });
  const idsOf = (events: readonly { id: string }[]): string[] => events.map(({ id }) => id);
  const row = async (id: string): Promise<Record<string, unknown>> => {
    const [found] = await database.read((manager) =>
      queryRows<Record<string, unknown>>(manager, 'SELECT * FROM outbox WHERE id = $1', [id]),
    );
    return found ?? {};
  };

  it('fetches pending events only, ordered by creation time, then id, up to the limit', async () => {
    await add({ id: 'c' }, { id: 'a' }, { id: 'b' }, { id: 'published' }, { id: 'dead' });
    await sql('UPDATE outbox SET created_at = 5');
    await sql("UPDATE outbox SET created_at = 4 WHERE id IN ('c', 'published', 'dead')");
    await sql("UPDATE outbox SET status = 'PUBLISHED', published_at = 1 WHERE id = 'published'");
    await sql("UPDATE outbox SET status = 'DEAD' WHERE id = 'dead'");
    expect(idsOf(await claim('p', 2))).toEqual(['c', 'a']);
    expect(idsOf(await claim('p'))).toEqual(['b']);
  });

  it('finds nothing in an empty outbox', async () => {
    expect(await claim('p')).toEqual([]);
  });

  it('leaves an event alone until its time has come', async () => {
    await add({ id: 'later', availableAt: Date.now() + 3_600_000 }, { id: 'now' });
    expect(idsOf(await claim('p'))).toEqual(['now']);
    await sql("UPDATE outbox SET available_at = 1 WHERE id = 'later'");
    expect(idsOf(await claim('p'))).toEqual(['later']);
  });

  it('gives an event to one holder until the lease ends, then to another', async () => {
    await add({ id: 'e' });
    expect(idsOf(await claim('first', 1, 50))).toEqual(['e']);
    await eventually(async () => expect(idsOf(await claim('second'))).toEqual(['e']));
    expect(await claims.markPublishedIfClaimed('first', ['e'], SETTLED)).toEqual([]);
    expect(await row('e')).toMatchObject({ status: 'PENDING', claimed_by: 'second' });
    expect(idsOf(await claims.markPublishedIfClaimed('second', ['e'], SETTLED))).toEqual(['e']);
  });

  it('shares events among many concurrent holders without giving any twice', async () => {
    const ids = await add(...Array.from({ length: 400 }, () => ({})));
    const drain = async (holder: string): Promise<string[]> => {
      const mine: string[] = [];
      for (;;) {
        const events = await claim(holder, 7);
        if (events.length === 0) return mine;
        mine.push(...idsOf(events));
      }
    };
    const taken = (await Promise.all(['a', 'b', 'c', 'd', 'e'].map(drain))).flat();
    expect(taken.toSorted()).toEqual(ids.toSorted());
  });

  it('marks published once, with how long it took, and settles what nobody confirms', async () => {
    await add({ id: 'x', queue: 'confirmed' }, { id: 'y' });
    await claim('p');
    const marked = await claims.markPublishedIfClaimed('p', ['x', 'y'], ['confirmed']);
    expect(marked).toHaveLength(2);
    for (const { latencyMs } of marked) expect(latencyMs).toBeGreaterThanOrEqual(0);
    expect(await row('x')).toMatchObject({ status: 'PUBLISHED', confirmed_at: null, claimed_by: null });
    expect(await row('y')).toMatchObject({ status: 'PUBLISHED', confirmed_at: expect.any(Number) });
    expect(await claims.markPublishedIfClaimed('p', ['x', 'y'], SETTLED)).toEqual([]);
  });

  it('marks a batch published with its event', async () => {
    await sql(
      "INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at) VALUES ('b', 1, 2, 1, 'w', 1)",
    );
    await add({ id: 'b', queue: 'analysis' });
    await claim('p');
    await claims.markPublishedIfClaimed('p', ['b'], ['analysis']);
    const [batch] = await database.read((manager) =>
      queryRows<{ published_at: number }>(manager, 'SELECT published_at FROM batches'),
    );
    expect(batch?.published_at).toBeGreaterThan(0);
  });

  it('releases events untouched, only for their holder', async () => {
    await add({ id: 'e' });
    await claim('p');
    await claims.release('stranger', ['e']);
    expect(await claim('other')).toEqual([]);
    await claims.release('p', ['e']);
    expect(idsOf(await claim('other'))).toEqual(['e']);
    expect(await row('e')).toMatchObject({ attempts: 0 });
  });

  it('offers a failed event again only after its delay, with the attempt counted and the error kept', async () => {
    await add({ id: 'e' });
    await claim('p');
    await claims.recordFailures('p', [{ id: 'e', error: 'refused \0', delayMs: 3_600_000 }]);
    expect(await row('e')).toMatchObject({ status: 'PENDING', attempts: 1, last_error: 'refused ␀' });
    expect(await claim('p')).toEqual([]);
    await sql("UPDATE outbox SET available_at = available_at - 3600000 WHERE id = 'e'");
    expect(await eventually(() => claim('p').then((found) => found.length > 0 && found))).toMatchObject([
      { id: 'e', attempts: 1 },
    ]);
  });

  it('gives up an event for good, with its last error', async () => {
    await add({ id: 'e' });
    await claim('p');
    expect(await claims.recordFailures('stranger', [{ id: 'e', error: 'no', delayMs: null }])).toEqual([]);
    expect(await claims.recordFailures('p', [{ id: 'e', error: 'poison', delayMs: null }])).toEqual(['e']);
    expect(await row('e')).toMatchObject({ status: 'DEAD', attempts: 1, last_error: 'poison' });
    expect(await claim('p')).toEqual([]);
  });

  describe('of one ordering key', () => {
    const keyed = (id: string, orderingKey = 'k'): Partial<NewEvent> => ({ id, orderingKey });
    const publish = (id: string): Promise<unknown> => claims.markPublishedIfClaimed('p', [id], SETTLED);

    it('offers the next event only when the previous one is published', async () => {
      await add(keyed('1'), keyed('2'), keyed('other', 'k2'), { id: 'free' });
      expect(idsOf(await claim('p')).toSorted()).toEqual(['1', 'free', 'other']);
      expect(await claim('p')).toEqual([]);
      await publish('1');
      expect(idsOf(await claim('p'))).toEqual(['2']);
    });

    it('waits for an event that backs off, and goes on when it is given up', async () => {
      await add(keyed('1'), keyed('2'));
      await claim('p');
      await claims.recordFailures('p', [{ id: '1', error: 'x', delayMs: 3_600_000 }]);
      expect(await claim('p')).toEqual([]);
      await sql("UPDATE outbox SET available_at = 0, claimed_by = 'p' WHERE id = '1'");
      await claims.recordFailures('p', [{ id: '1', error: 'x', delayMs: null }]);
      expect(idsOf(await claim('p'))).toEqual(['2']);
    });

    it('keeps the order under concurrent holders', async () => {
      const events = Array.from({ length: 60 }, (_, n) => keyed(`${n}`.padStart(3, '0'), `k${n % 3}`));
      await add(...events);
      const published: string[] = [];
      const work = async (holder: string): Promise<void> => {
        while (published.length < events.length) {
          const found = await claim(holder, 5);
          published.push(...idsOf(found));
          await claims.markPublishedIfClaimed(holder, idsOf(found), SETTLED);
        }
      };
      await Promise.all(['a', 'b', 'c'].map(work));
      for (const key of [0, 1, 2]) {
        const mine = published.filter((id) => Number(id) % 3 === key);
        expect(mine).toEqual(mine.toSorted());
        expect(mine).toHaveLength(20);
      }
    });
  });

  it('finds the oldest by walking the index of what is pending, without sorting it', async () => {
    await add(...Array.from({ length: 3_000 }, () => ({})));
    const explain = kind === 'postgres' ? 'EXPLAIN' : 'EXPLAIN QUERY PLAN';
    const plan = await database.inTransaction(async (tx) => {
      await walkTheIndex(tx);
      const rows = await queryRows<Record<string, unknown>>(tx, `${explain} ${claimSql(tx)}`, ['p', 1, 100]);
      return rows.map((row) => String(row['QUERY PLAN'] ?? row.detail)).join('\n');
    });
    expect(plan).toMatch(/Index Scan using outbox_pending on outbox o|SCAN o USING INDEX outbox_pending$/m);
    expect(plan).not.toMatch(/Sort|TEMP B-TREE FOR ORDER BY/i);
  });

  it('does not wait for a transaction that has not committed', async () => {
    await add({ id: 'visible' });
    if (kind === 'sqlite') return expect(idsOf(await claim('p'))).toEqual(['visible']);
    await database.inTransaction(async (tx) => {
      await append(tx, { id: 'uncommitted', queue: 'q', payload: {} });
      const other = new Database({ url: rig.url, logger: silentLogger, metrics: new Metrics() });
      await other.start();
      const found = await new EventClaims(other).claim({ holder: 'p', limit: 10, leaseMs: LEASE_MS });
      await other.stop();
      expect(idsOf(found)).toEqual(['visible']);
    });
  });
});
