import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DEAD_LETTER } from '#contracts';
import { Database, queryRows, type EntityManager } from '#database';
import type { LetterFilter } from '#dlq-client';
import { Metrics, silentLogger } from '#service';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { takeIn } from '../ingest/intake.repository.js';
import { draftOf, searchTextOf, type LetterDraft } from '../ingest/letter-draft.js';
import { whereOf } from './criteria.js';
import { LettersRepository } from './letters.repository.js';

const QUEUES = { files: 'files', batches: 'batches' };
const COUNT = 60;

function draft(n: number): LetterDraft {
  const letter = {
    queue: `queue-${n % 3}`,
    jobId: `job-${n}`,
    jobName: 'import',
    data: {
      order: { id: `order-${100_000 + n}`, rate: '50%_a\\b' },
      size: n,
      note: n === 7 ? 'Größe "x"' : '',
    },
    options: {},
    reason: 'error',
    errorName: 'TypeError',
    errorMessage: `cannot read row ${n}`,
    stack: 'TypeError: cannot read\n    at work (/srv/work.js:1:1)',
    attemptsMade: 3,
    attempts: [],
    lastWorkerId: `worker-${n % 4}`,
    enqueuedAt: n,
    failedAt: n,
    deadLetteredAt: n,
  };
  return draftOf(DEAD_LETTER.parse(letter), []);
}

describe.each(DATABASE_KINDS)('letters on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;
  let letters: LettersRepository;
  const drafts = Array.from({ length: COUNT }, (_, n) => draft(n));

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    letters = new LettersRepository(database);
    await database.inTransaction((tx) => takeIn(tx, drafts, QUEUES));
  });
  afterAll(async () => {
    await database.stop();
    await place.remove();
  });

  const found = async (filter: LetterFilter): Promise<string[]> =>
    (await letters.list({ filter, scope: null }, null, COUNT)).items.map(({ jobId }) => jobId);

  it.each([
    ['a word that all have', 'cannot read'],
    ['a word that all have and one that few have', 'order-100042'],
    ['a rare word with the mark after it', '100042"'],
    ['a short rare word', 'row 42\n'],
    ['half a word', '00042'],
    ['the wildcards of LIKE', '50%_a'],
    ['no word at all', '"},"'],
    ['another script', 'größe'],
    ['quotes as they are typed', 'größe "x"'],
    ['what nobody has', 'order-200042'],
  ])('are those that hold %s', async (_, text) => {
    const escaped = JSON.stringify(text).slice(1, -1);
    const expected = drafts.filter((draft) => {
      const searched = searchTextOf(draft);
      return searched.includes(text) || searched.includes(escaped);
    });
    expect((await found({ text })).sort()).toEqual(expected.map(({ jobId }) => jobId).sort());
  });

  it('are found by a text and a field together, the one common and the other rare', async () => {
    expect(await found({ text: 'cannot read', payload: { 'order.id': 'order-100042' } })).toEqual(['job-42']);
    expect(await found({ text: 'row 41', payload: { 'order.id': 'order-100042' } })).toEqual([]);
    expect(await letters.count({ filter: { text: 'order-100042' }, scope: null })).toEqual({
      count: 1,
      exact: true,
    });
  });
});

describe('letters on sqlite', () => {
  let place: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    place = await testDatabase('sqlite');
    database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
  });
  afterAll(async () => {
    await database.stop();
    await place.remove();
  });

  it.each([
    ['group', 'dead_letters_by_group'],
    ['worker', 'dead_letters_by_worker'],
    ['error', 'dead_letters_by_error'],
  ])('are looked up by %s, not among all of a status or a queue', async (field, index) => {
    const criteria = {
      filter: { [field]: 'x', status: 'open', queue: 'queue-1' } as const,
      scope: ['queue-1'],
    };
    expect(await database.read((manager) => planOf(manager, criteria))).toContain(index);
  });
});

async function planOf(manager: EntityManager, criteria: Parameters<typeof whereOf>[0]): Promise<string> {
  const where = whereOf(criteria, 'sqlite');
  const plan = await queryRows(
    manager,
    `EXPLAIN QUERY PLAN SELECT d.note FROM dead_letters d ${where.sql}
     ORDER BY d.dead_lettered_at DESC, d.id DESC LIMIT 50`,
    where.params,
  );
  return JSON.stringify(plan);
}
