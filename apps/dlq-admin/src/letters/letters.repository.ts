import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { columnsOf, Database, dialectOf, queryOne, queryRows } from '#database';
import { DeadLetterEntity, DeadLetterHistoryEntity, type EntityManager } from '#database';
import type { HistoryEntry, LetterSummary, Page } from '#dlq-client';
import { pageOf, type Cursor } from '../http/field.js';
import { MAY_LAG, PATIENCE } from '../http/query.js';
import { needlesOf, payloadFits, STATE, whereOf, type Criteria } from './criteria.js';
import { holdsAny, matching } from './text-index.js';

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
      (manager) => (criteria.filter.payload ? verified : search)(manager, { ...criteria, after }, limit + 1),
      LIST,
    );
    return pageOf(found, limit, cursorOf);
  }

  /** How many letters; counts up to a hundred thousand are exact. */
  count(criteria: Criteria): Promise<{ count: number; exact: boolean }> {
    return this.database.read(async (manager) => {
      const count = criteria.filter.payload
        ? (await verified(manager, criteria, COUNT_LIMIT)).length
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

/** `extra` is read besides the summary, such as `, d.payload`. */
async function search(
  manager: EntityManager,
  criteria: Criteria,
  limit: number,
  extra = '',
): Promise<LetterSummary[]> {
  const select = `SELECT ${SUMMARY}${extra}`;
  const needles = needlesOf(criteria.filter);
  const recent = needles.length > 0 ? await inWindow(manager, criteria, limit, select) : [];
  return recent.length >= limit ? recent : byTextIndex(manager, criteria, limit, select);
}

/** Common texts: found among the newest letters that fit otherwise. */
function inWindow(
  manager: EntityManager,
  criteria: Criteria,
  limit: number,
  select: string,
): Promise<LetterSummary[]> {
  const dialect = dialectOf(manager);
  const where = whereOf(criteria, dialect);
  const window = `SELECT d.id, d.dead_lettered_at FROM dead_letters d ${where.sql} ${NEWEST_FIRST} LIMIT ${WINDOW}`;
  const needles = needlesOf(criteria.filter);
  const matches = needles.map((any) => holdsAny(dialect, 'x.text', any, where)).join(' AND ');
  return queryRows(
    manager,
    `${select} FROM (
       SELECT w.id FROM (${window}) AS w JOIN dead_letter_texts x ON x.letter_id = w.id WHERE ${matches} ORDER BY w.dead_lettered_at DESC, w.id DESC
       LIMIT ${where.param(limit)}
     ) AS m JOIN dead_letters d ON d.id = m.id ${NEWEST_FIRST}`,
    where.params,
  );
}

/** Rare texts: looked up in the text index, then ordered. Without a text, all letters are. */
async function byTextIndex(
  manager: EntityManager,
  criteria: Criteria,
  limit: number,
  select: string,
): Promise<LetterSummary[]> {
  const { where, ...source } = await matching(manager, criteria);
  return queryRows(
    manager,
    `${source.with} ${select} FROM ${source.from} ${where.sql} ${NEWEST_FIRST} LIMIT ${where.param(limit)}`,
    where.params,
  );
}

async function countMatches(manager: EntityManager, criteria: Criteria): Promise<number> {
  const { where, ...source } = await matching(manager, criteria);
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
  limit: number,
): Promise<LetterSummary[]> {
  const found: LetterSummary[] = [];
  let { after } = criteria;
  for (let round = 0; round < VERIFY_ROUNDS && found.length < limit; round++) {
    const candidates = await search(manager, { ...criteria, after }, VERIFY_CHUNK, ', d.payload');
    for (const candidate of candidates as (LetterSummary & { payload?: string })[]) {
      const { payload = 'null', ...summary } = candidate;
      if (payloadFits(JSON.parse(payload), criteria.filter.payload ?? {})) found.push(summary);
    }
    const last = candidates.at(-1);
    if (!last || candidates.length < VERIFY_CHUNK) break;
    after = cursorOf(last);
  }
  return found.slice(0, limit);
}
