import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { AuditLog, type AuditEntry, type ChainAnchor } from './audit-log.repository.js';
import { allRows, openDatabase, unguardAudit } from './database.fixture.js';
import type { Database } from './database.service.js';

const entry = (n: number): AuditEntry => ({
  at: 1_763_250_000_000 + n,
  actor: `user ${n}`,
  role: 'operator',
  action: 'requeue',
  target: `letter ${n}`,
  before: { status: 'open' },
  after: { status: 'requeued', note: 'nul \0, lone \ud800, "quotes"' },
  result: 'ok',
});

describe.each(DATABASE_KINDS)('the audit log on %s', (kind) => {
  let target: TestDatabase;
  let database: Database;
  let audit: AuditLog;
  beforeEach(async () => {
    target = await testDatabase(kind);
    database = await openDatabase(target.url);
    audit = new AuditLog(database);
  });
  afterEach(async () => {
    await database.stop();
    await target.remove();
  });

  const append = (n: number, log = audit): Promise<ChainAnchor> =>
    database.inTransaction((tx) => log.append(tx, entry(n)));
  const appendMany = async (count: number): Promise<void> => {
    for (let n = 1; n <= count; n++) await append(n);
  };
  const tamper = async (sql: string): Promise<void> => {
    await unguardAudit(database);
    await database.inTransaction((tx) => tx.query(sql));
  };

  it('refuses to be changed or emptied', async () => {
    await appendMany(2);
    const statements = ["UPDATE audit_log SET actor = 'x'", 'DELETE FROM audit_log WHERE id = 2'];
    for (const sql of kind === 'postgres' ? [...statements, 'TRUNCATE audit_log'] : statements)
      await expect(database.inTransaction((tx) => tx.query(sql))).rejects.toThrow('audit_log only grows');
    expect(await audit.verifyChain()).toMatchObject({ state: 'intact', rows: 2 });
  });

  it('shows that its end was cut off, by the end that was noted elsewhere', async () => {
    await appendMany(3);
    const noted = await append(4);
    expect(await audit.verifyChain(noted)).toMatchObject({ state: 'intact', rows: 4 });
    await tamper('DELETE FROM audit_log WHERE id >= 3');
    expect(await audit.verifyChain()).toMatchObject({ state: 'intact', rows: 2 });
    expect(await audit.verifyChain(noted)).toMatchObject({ state: 'broken', id: 3 });
    for (const n of [5, 6]) await append(n);
    expect(await audit.verifyChain(noted)).toMatchObject({ state: 'broken', id: 4 });
  });

  it('with a key cannot be written anew by one who has none', async () => {
    const sealed = new AuditLog(database, 'the key of this installation');
    await append(1);
    for (const n of [2, 3]) await append(n, sealed);
    expect(await sealed.verifyChain()).toMatchObject({ state: 'intact', rows: 3, sealed: 2 });
    expect(await audit.verifyChain()).toMatchObject({ state: 'intact', rows: 3, sealed: 2 });
    expect(await new AuditLog(database, 'another key').verifyChain()).toMatchObject({
      state: 'broken',
      id: 2,
    });
    await tamper('DELETE FROM audit_log WHERE id = 3');
    await append(3);
    expect(await sealed.verifyChain()).toMatchObject({ state: 'broken', id: 3 });
  });

  it('is intact when empty and after appends', async () => {
    expect(await audit.verifyChain()).toMatchObject({ state: 'intact', rows: 0 });
    await appendMany(5);
    const [last] = await allRows<{ hash: string }>(database, 'SELECT hash FROM audit_log WHERE id = 5');
    expect(await audit.verifyChain()).toEqual({ state: 'intact', rows: 5, head: last?.hash, sealed: 0 });
  });

  it('keeps no row of a transaction that was rolled back', async () => {
    const failed = database.inTransaction(async (tx) => {
      await audit.append(tx, entry(1));
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(await audit.verifyChain()).toMatchObject({ state: 'intact', rows: 0 });
  });

  it('never forks, however many append at once', async () => {
    await Promise.all(Array.from({ length: 40 }, (_, n) => append(n)));
    expect(await audit.verifyChain()).toMatchObject({ state: 'intact', rows: 40 });
  });

  it.each([
    [
      'a changed row',
      "UPDATE audit_log SET actor = 'nobody' WHERE id = 3",
      { id: 3, problem: 'row was changed' },
    ],
    [
      'a changed time',
      'UPDATE audit_log SET at = at + 1 WHERE id = 2',
      { id: 2, problem: 'row was changed' },
    ],
    ['a missing row', 'DELETE FROM audit_log WHERE id = 4', { id: 4, problem: 'row is missing' }],
    ['a missing first row', 'DELETE FROM audit_log WHERE id = 1', { id: 1, problem: 'row is missing' }],
    [
      'a chain joined again over a gap',
      "UPDATE audit_log SET previous_hash = 'x' WHERE id = 5",
      { id: 5, problem: 'row does not follow the one before' },
    ],
  ])('finds %s at its place', async (_, sql, expected) => {
    await appendMany(6);
    await tamper(sql);
    expect(await audit.verifyChain()).toEqual({ state: 'broken', ...expected });
  });

  it('finds an inserted row', async () => {
    await appendMany(2);
    await tamper(`INSERT INTO audit_log (id, at, actor, action, result, previous_hash, hash)
      SELECT 3, 1, 'forger', 'discard', 'ok', hash, 'made up' FROM audit_log WHERE id = 2`);
    expect(await audit.verifyChain()).toMatchObject({ state: 'broken', id: 3 });
  });

  it('walks chains longer than one page', async () => {
    await database.inTransaction(async (tx) => {
      for (let n = 0; n < 1_005; n++) await audit.append(tx, entry(n));
    });
    expect(await audit.verifyChain()).toMatchObject({ state: 'intact', rows: 1_005 });
  });
});
