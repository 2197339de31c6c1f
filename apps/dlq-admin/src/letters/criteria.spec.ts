import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { searchTextOf } from '../ingest/letter-draft.js';
import { needlesOf, payloadFits, whereOf } from './criteria.js';
import { decodeCursor, encodeCursor } from '../http/field.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { LetterChanges, type LockedLetter } from './letter-changes.repository.js';

describe('payload conditions', () => {
  it('always find their value in the text that is searched first', () => {
    const key = fc.stringMatching(/^[a-zA-Z_]{1,8}$/).filter((name) => name !== '__proto__');
    const leaf = fc.oneof(fc.string({ minLength: 1 }), fc.integer(), fc.boolean());
    fc.assert(
      fc.property(key, key, leaf, (outer, inner, value) => {
        const payload = { [outer]: { [inner]: value } };
        const conditions = { [`${outer}.${inner}`]: String(value) };
        const text = searchTextOf({
          jobId: 'j',
          name: 'n',
          errorName: 'E',
          errorMessage: 'm',
          payload: JSON.stringify(payload),
        });
        const found = needlesOf({ payload: conditions }).every((any) =>
          any.some((needle) => text.includes(needle)),
        );
        return payloadFits(payload, conditions) && (found || /[\0\ud800-\udfff]/.test(String(value)));
      }),
    );
  });

  it('hold for own fields with exactly that value', () => {
    const payload = JSON.parse('{"a":{"b":[{"c":1}]},"n":null,"s":"1"}') as unknown;
    expect(payloadFits(payload, { 'a.b[0].c': '1' })).toBe(true);
    expect(payloadFits(payload, { 'a.b.0.c': '1' })).toBe(true);
    for (const [path, value] of [
      ['a.b.0.c', '2'],
      ['a', '[object Object]'],
      ['a.b.length', '1'],
      ['constructor.name', 'Object'],
      ['__proto__.x', 'y'],
      ['n.x', '1'],
      ['missing', 'undefined'],
    ] as const)
      expect([path, payloadFits(payload, { [path]: value })]).toEqual([path, false]);
  });
});

describe('the SQL of a filter', () => {
  it('holds no value, only placeholders', () => {
    const criteria = { filter: { queue: "q'; DROP", error: '$1', from: 5 }, scope: ['a', 'b'], maxId: 9 };
    const where = whereOf(criteria, 'postgres');
    expect(where.sql).toBe(
      'WHERE d.queue = $1 AND d.error_name = $2 AND d.dead_lettered_at >= $3 AND d.id <= $4 AND d.queue IN ($5, $6)',
    );
    expect(where.params).toEqual(["q'; DROP", '$1', 5, 9, 'a', 'b']);
  });

  it('finds nothing for a key that may see no queue', () => {
    expect(whereOf({ filter: {}, scope: [] }, 'postgres').sql).toBe('WHERE 1 = 0');
  });
});

describe('cursors', () => {
  it('come back as they were, and nothing else is one', () => {
    expect(decodeCursor(encodeCursor({ at: 7, id: 9 }), 'number')).toEqual({ at: 7, id: 9 });
    expect(decodeCursor(undefined, 'number')).toBeNull();
    for (const text of [
      '',
      'x',
      'e30',
      Buffer.from('[1]').toString('base64url'),
      Buffer.from('["a",1]').toString('base64url'),
      Buffer.from('[1,{}]').toString('base64url'),
    ])
      expect(() => decodeCursor(text, 'number')).toThrow('cursor');
    expect(() => decodeCursor(encodeCursor({ at: 7, id: 'x' }), 'number')).toThrow('cursor');
    expect(() => decodeCursor(encodeCursor({ at: 7, id: 'a\0b' }), 'string')).toThrow('cursor');
  });
});

describe('whether a letter can be requeued', () => {
  const queues = { PATH_DISCOVERY_QUEUE: 'files', ANALYSIS_QUEUE: 'batches' };
  const changes = new LetterChanges(Object.assign(new DlqAdminConfig(), { MAX_REPLAYS: 3, ...queues }));
  const letter: LockedLetter = {
    id: 1,
    queue: 'q',
    status: 'open',
    payload: '{}',
    redactedPaths: '[]',
    options: '{}',
    trace: null,
    fingerprint: 'f',
    worker: 'w',
    edited: 0,
    replayCount: 0,
    replaysForgiven: 0,
  };

  it.each<[Partial<LockedLetter>, string | null]>([
    [{}, null],
    [{ status: 'requeued' }, 'not-open'],
    [{ status: 'discarded' }, 'not-open'],
    [{ replayCount: 3 }, 'replay-limit'],
    [{ replayCount: 5, replaysForgiven: 3 }, null],
    [{ redactedPaths: '["a"]' }, 'redacted-payload'],
    [{ payload: '"text"' }, 'invalid-payload'],
    [{ queue: 'files', payload: '{"filePath":7}' }, 'invalid-payload'],
    [{ queue: 'files', payload: '{"filePath":"/a","fileSize":1,"fileId":1,"revision":1}' }, null],
  ])('%j → %s', (given, refusal) => {
    expect(changes.refusalOf('requeue', { ...letter, ...given })).toBe(refusal);
  });
});
