import { describe, expect, it } from '@jest/globals';
import { classifyFailure, type KnownLetter } from './classify-failure.js';
import { parseRequeueJobId, requeueJobId } from './requeue-id.js';

const known = (given: Partial<KnownLetter>): KnownLetter => ({
  id: 5,
  queue: 'q',
  jobId: 'job',
  name: 'n',
  payload: '{}',
  status: 'open',
  reason: 'error',
  replayCount: 0,
  failedAt: 100,
  fingerprint: 'f',
  lastWorkerId: 'w',
  errorName: 'E',
  errorMessage: 'm',
  ...given,
});

describe('the fate of a delivered failure', () => {
  const cases: [string, { jobId: string; failedAt: number; queue?: string }, KnownLetter[], string][] = [
    ['is new when its job is unknown', { jobId: 'other', failedAt: 1 }, [known({})], 'new'],
    ['is new in another queue', { jobId: 'job', failedAt: 500, queue: 'q2' }, [known({})], 'new'],
    ['is a duplicate when stored already', { jobId: 'job', failedAt: 100 }, [known({})], 'duplicate'],
    ['is the letter again when the job failed later', { jobId: 'job', failedAt: 101 }, [known({})], 'again'],
    [
      'reopens a discarded letter whose job failed later',
      { jobId: 'job', failedAt: 101 },
      [known({ status: 'discarded' })],
      'again',
    ],
    [
      'is the letter again when its latest requeue failed',
      { jobId: 'e-r-5-2', failedAt: 1 },
      [known({ status: 'requeued', replayCount: 2 })],
      'again',
    ],
    [
      'is a duplicate when an earlier requeue is told again',
      { jobId: 'e-r-5-1', failedAt: 900 },
      [known({ status: 'requeued', replayCount: 2 })],
      'duplicate',
    ],
    [
      'is a duplicate when the letter is open again already',
      { jobId: 'e-r-5-2', failedAt: 900 },
      [known({ replayCount: 2 })],
      'duplicate',
    ],
    [
      'is new when a requeue of an unknown letter fails',
      { jobId: 'e-r-6-1', failedAt: 1 },
      [known({})],
      'new',
    ],
    [
      'is new when the requeue is of another queue',
      { jobId: 'e-r-5-1', failedAt: 1, queue: 'q2' },
      [known({ status: 'requeued', replayCount: 1 })],
      'new',
    ],
  ];
  it.each(cases)('%s', (_, draft, letters, kind) => {
    expect(classifyFailure({ queue: 'q', ...draft }, letters).kind).toBe(kind);
  });

  it('reads the letter and the number from a requeue job id, and nothing from other ids', () => {
    expect(parseRequeueJobId(requeueJobId(42, 7))).toEqual({ letterId: 42, replay: 7 });
    for (const id of ['e-r-42', 'r-42-7', 'e-r-42-7-x', 'e-r-a-7', 'f-1-1'])
      expect(parseRequeueJobId(id)).toBeNull();
  });
});
