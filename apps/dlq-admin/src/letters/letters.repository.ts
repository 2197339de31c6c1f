import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { columnsOf, Database, dialectOf, queryOne, queryRows } from '#database';
import { DeadLetterEntity, DeadLetterHistoryEntity, type Dialect, type EntityManager } from '#database';
import type { HistoryEntry, LetterSummary, Page } from '#dlq-client';
import { MAY_LAG, PATIENCE } from '../http/query.js';
import { needlesOf, payloadFits, STATE, whereOf, type Criteria } from './criteria.js';
import { pageOf, type Cursor } from '../http/field.js';
import { holdsAny, matching, type Needles } from './text-index.js';
import type { Where } from './where.js';

/** Stacks, payloads and search text stay in the table: a page of them could be hundreds of megabytes. */
const SUMMARY = `${columnsOf<DeadLetterEntity>(
  [
    ...(['id', 'queue', 'jobId', 'name', 'reason', 'errorName', 'attemptsMade', 'lastWorkerId'] as const),
    ...(['enqueuedAt', 'failedAt', 'deadLetteredAt', 'replayCount', 'replayedAt'] as const),
    ...(['resolvedAt', 'resolvedBy', 'note', 'version'] as const),
  ],
  'd',
)}, ${STATE} AS status, substr(d.error_message, 1, 500) AS "errorMessage", d.fingerprint AS "group"`;

const NEWEST_FIRST = 'ORDER BY d.dead_lettered_at DESC, d.id DESC';
// The newest so many letters are looked through one by one; what is rare among them is looked up in the text index.
const WINDOW = 2_000;
const COUNT_LIMIT = 100_000;
const HISTORY_LIMIT = 200;
const VERIFY_CHUNK = 400;
const VERIFY_ROUNDS = 50;
const LIST = { ...PATIENCE, ...MAY_LAG };

/** Reads letters. Lists are keyset pages, newest first; texts are matched literally. */
@Injectable()
export class LettersRepository {
  constructor(private readonly database: Database) {}

  /** One page. Payload conditions are checked on the payload itself, after the text index has narrowed the choice. */
  async list(criteria: Criteria, after: Cursor | null, limit: number): Promise<Page<LetterSummary>> {
    const found = await this.database.read(
      (manager) =>
        criteria.filter.payload
          ? verified(manager, criteria, after, limit + 1)
          : search({ manager, criteria, after, limit: limit + 1 }),
      LIST,
    );
    return pageOf(found, limit, cursorOf);
  }

  /** How many letters; counts up to a hundred thousand are exact. */
  count(criteria: Criteria): Promise<{ count: number; exact: boolean }> {
    return this.database.read(async (manager) => {
      const count = criteria.filter.payload
        ? (await verified(manager, criteria, null, COUNT_LIMIT)).length
        : await countMatches(manager, criteria);
      return { count: Math.min(count, COUNT_LIMIT), exact: count <= COUNT_LIMIT };
    }, LIST);
  }

  /** A whole letter, as committed or as the transaction around sees it. */
  find(id: number, scope: readonly string[] | null): Promise<DeadLetterEntity | null> {
    const where = { id, ...(scope && { queue: In(scope) }) };
    return this.database.read((manager) => manager.findOneBy(DeadLetterEntity, where));
  }

  /** What happened to it last, in order. */
  async history(letterId: number): Promise<HistoryEntry[]> {
    const newest = { where: { letterId }, order: { id: 'DESC' }, take: HISTORY_LIMIT } as const;
    const latest = await this.database.read((manager) => manager.find(DeadLetterHistoryEntity, newest));
    return latest.reverse().map(({ at, actor, event, details }) => ({ at, actor, event, details }));
  }
}

interface Search {
  manager: EntityManager;
  criteria: Criteria;
  after: Cursor | null;
  limit: number;
  /** What to read besides the summary, such as `, d.payload`. */
  extra?: string;
}

async function search(what: Search): Promise<LetterSummary[]> {
  const needles = needlesOf(what.criteria.filter);
  if (needles.length === 0) return byTextIndex(what, needles);
  const recent = await inWindow(what, needles);
  return recent.length >= what.limit ? recent : byTextIndex(what, needles);
}

/** Common texts: found among the newest letters that fit otherwise. */
function inWindow(search: Search, needles: Needles): Promise<LetterSummary[]> {
  const { manager, limit, extra = '', ...what } = search;
  const dialect = dialectOf(manager);
  const where = conditions(what, dialect);
  const window = `SELECT d.id, d.dead_lettered_at FROM dead_letters d ${where.sql} ${NEWEST_FIRST} LIMIT ${WINDOW}`;
  const matches = needles.map((any) => holdsAny(dialect, 'x.text', any, where)).join(' AND ');
  return queryRows(
    manager,
    `SELECT ${SUMMARY}${extra} FROM (
       SELECT w.id FROM (${window}) AS w JOIN dead_letter_texts x ON x.letter_id = w.id WHERE ${matches} ORDER BY w.dead_lettered_at DESC, w.id DESC
       LIMIT ${where.param(limit)}
     ) AS m JOIN dead_letters d ON d.id = m.id ${NEWEST_FIRST}`,
    where.params,
  );
}

/** Rare texts: looked up in the text index, then ordered. Without a text, all letters are. */
async function byTextIndex(search: Search, needles: Needles): Promise<LetterSummary[]> {
  const { manager, limit, extra = '', ...what } = search;
  const where = conditions(what, dialectOf(manager));
  const source = await matching(manager, needles, where);
  return queryRows(
    manager,
    `${source.with} SELECT ${SUMMARY}${extra} FROM ${source.from} ${where.sql} ${NEWEST_FIRST} LIMIT ${where.param(limit)}`,
    where.params,
  );
}

function conditions({ criteria, after }: Pick<Search, 'criteria' | 'after'>, dialect: Dialect): Where {
  const where = whereOf(criteria, dialect);
  return after ? where.and('(d.dead_lettered_at, d.id) < (?, ?)', after.at, after.id) : where;
}

async function countMatches(manager: EntityManager, criteria: Criteria): Promise<number> {
  const where = whereOf(criteria, dialectOf(manager));
  const source = await matching(manager, needlesOf(criteria.filter), where);
  const { count } = await queryOne<{ count: number }>(
    manager,
    `${source.with} SELECT count(*) AS count FROM (
       SELECT 1 AS one FROM ${source.from} ${where.sql} LIMIT ${where.param(COUNT_LIMIT + 1)}) AS found`,
    where.params,
  );
  return count;
}

const cursorOf = ({ deadLetteredAt, id }: LetterSummary): Cursor => ({ at: deadLetteredAt, id });

/** Letters whose payload really holds the values that the filter names; looks at a bounded number of candidates. */
export async function verified(
  manager: EntityManager,
  criteria: Criteria,
  after: Cursor | null,
  limit: number,
): Promise<LetterSummary[]> {
  const found: LetterSummary[] = [];
  const chunk = { manager, criteria, limit: VERIFY_CHUNK, extra: ', d.payload' };
  let from = after;
  for (let round = 0; round < VERIFY_ROUNDS && found.length < limit; round++) {
    const candidates = await search({ ...chunk, after: from });
    for (const candidate of candidates as (LetterSummary & { payload?: string })[]) {
      const { payload = 'null', ...summary } = candidate;
      if (payloadFits(JSON.parse(payload), criteria.filter.payload ?? {})) found.push(summary);
    }
    const last = candidates.at(-1);
    if (!last || candidates.length < VERIFY_CHUNK) break;
    from = cursorOf(last);
  }
  return found.slice(0, limit);
}
