import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BATCH_EVENT, DEAD_LETTER } from '#contracts';
import { CORRUPT_RECORD_REASON, deadLetterId, enrich, STALL_LIMIT_REASON } from './dead-letter.js';
import { describeFailure, encodeFailure } from './failure-record.js';

const attempt = (message: string, at: number, workerId: string): string =>
  encodeFailure(
    describeFailure(new Error(message, { cause: new TypeError('deep') }), { at, workerId, reason: 'error' }),
  );

const JOB = { queue: 'q', jobId: 'job-1', failedAt: 1_700_000_000_500 };
const RAW = {
  name: 'file job',
  data: '{"filePath":"/a","trace":"00-aa-bb-01"}',
  opts: '{"attempts":2}',
  timestamp: '1700000000000',
  atm: '2',
  failedReason: 'second',
  pb: 'worker-2',
  stacktrace: JSON.stringify([attempt('first', 10, 'worker-1'), attempt('second', 20, 'worker-2')]),
};

describe('a dead letter', () => {
  it('tells origin, full stack with causes, last worker, attempts and times', () => {
    const letter = enrich({ ...JOB, raw: RAW }, 1_700_000_000_900);
    expect(letter).toMatchObject({
      queue: 'q',
      jobId: 'job-1',
      jobName: 'file job',
      data: { filePath: '/a' },
      options: { attempts: 2 },
      reason: 'error',
      errorName: 'Error',
      errorMessage: 'second',
      attemptsMade: 2,
      attempts: [
        { attempt: 1, error: 'Error: first', at: 10 },
        { attempt: 2, error: 'Error: second', at: 20 },
      ],
      lastWorkerId: 'worker-2',
      enqueuedAt: 1_700_000_000_000,
      failedAt: 1_700_000_000_500,
      deadLetteredAt: 1_700_000_000_900,
      trace: '00-aa-bb-01',
    });
    expect(letter.stack).toMatch(/^Error: second\n {4}at [^]*Caused by: TypeError: deep\n/);
    expect(DEAD_LETTER.faultsOf(letter)).toEqual([]);
  });

  it.each([
    [STALL_LIMIT_REASON, 'stalled'],
    [`${CORRUPT_RECORD_REASON}: opts is not JSON`, 'invalid'],
    ['anything else', 'error'],
  ])('has the class of the reason: %s', (failedReason, reason) => {
    expect(enrich({ ...JOB, raw: { failedReason } }, 1).reason).toBe(reason);
  });

  it.each([
    ['{"attempts":1,"tried":1}', 3],
    ['{"tried":"many"}', 2],
    ['{"tried":-1}', 2],
    ['not JSON', 2],
  ])('counts attempts that were used up under another job (%s)', (opts, attemptsMade) => {
    expect(enrich({ ...JOB, raw: { ...RAW, opts } }, 1).attemptsMade).toBe(attemptsMade);
  });

  it('keeps data that is not JSON as text', () => {
    const { data } = enrich({ ...JOB, raw: { ...RAW, data: '{oops' } }, 1);
    expect(data).toEqual({ unreadable: 'not JSON', characters: 5, head: '{oops' });
  });

  it('cuts data of 10 MB and says so', () => {
    const letter = enrich({ ...JOB, raw: { ...RAW, data: JSON.stringify('x'.repeat(10_000_000)) } }, 1);
    expect(letter.data).toMatchObject({ unreadable: 'too long', characters: 10_000_002 });
    expect(JSON.stringify(letter).length).toBeLessThan(300_000);
  });

  it('keeps what a job of 10 MB is about when its lists make it so long, and can be requeued', () => {
    const path = `/${'x'.repeat(2_000)}`;
    const file = { fileId: 1, revision: 1, path, tokens: 1, part: 1, parts: 1, start: 0, end: 1, hash: 'h' };
    const event = { id: 'b-1', totalTokens: 7, files: Array.from({ length: 5_000 }, () => file) };
    const { data } = enrich({ ...JOB, raw: { ...RAW, data: JSON.stringify(event) } }, 1);
    expect(data).toEqual({ id: 'b-1', totalTokens: 7, files: [], omitted: { files: 5_000 } });
    expect(BATCH_EVENT.faultsOf(data)).toEqual([]);
  });

  it('does not let data reach a prototype', () => {
    const letter = enrich({ ...JOB, raw: { ...RAW, data: '{"__proto__":{"polluted":true}}' } }, 1);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(JSON.stringify(letter.data)).toBe('{"__proto__":{"polluted":true}}');
  });

  it('keeps the last attempts of a job that failed very often', () => {
    const stacks = Array.from({ length: 80 }, (_, index) => attempt(`no ${index + 1}`, index, 'w'));
    const { attempts } = enrich({ ...JOB, raw: { ...RAW, stacktrace: JSON.stringify(stacks) } }, 1);
    expect(attempts).toHaveLength(50);
    expect(attempts.at(-1)).toMatchObject({ attempt: 80, error: 'Error: no 80' });
  });

  it('is made, and valid, whatever the record holds', () => {
    const fields = ['name', 'data', 'opts', 'timestamp', 'atm', 'failedReason', 'stacktrace', 'pb'];
    const raw = fc.dictionary(fc.constantFrom(...fields), fc.oneof(fc.string(), fc.json()));
    fc.assert(
      fc.property(raw, (record) => {
        expect(DEAD_LETTER.faultsOf(enrich({ ...JOB, raw: record }, 1))).toEqual([]);
      }),
    );
  });

  it('has one id for one failure, and another when the requeued job fails again', () => {
    expect(deadLetterId(JOB)).toBe(deadLetterId({ ...JOB }));
    const others = [
      { ...JOB, failedAt: JOB.failedAt + 1 },
      { ...JOB, queue: 'r' },
      { ...JOB, jobId: 'job-2' },
    ];
    expect(new Set([JOB, ...others].map((job) => deadLetterId(job))).size).toBe(4);
    expect(deadLetterId(JOB)).toMatch(/^dl-[0-9a-f]{40}$/);
  });
});
