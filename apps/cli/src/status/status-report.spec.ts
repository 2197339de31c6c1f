import { describe, expect, it } from '@jest/globals';
import type { PipelineView } from '#dlq-client';
import { statusLine, statusReport } from './status-report.js';

const view: PipelineView = {
  id: 'p',
  destination: null,
  at: 1_000_000,
  scans: [
    {
      ...{
        root: '/srv/docs',
        outcome: 'running',
        worker: 'producer-1',
        startedAt: 1,
        finishedAt: null,
        folders: 1,
      },
      ...{ files: 4, bytes: 10, enqueued: 4, errors: 0, expectedFiles: 9 },
    },
  ],
  files: { pending: 2, processing: 0, batched: 0, analyzed: 1_000, skipped: 0, failed: 1 },
  bytes: { pending: 10, processing: 0, batched: 0, analyzed: 5_000, skipped: 0, failed: 7 },
  queues: [
    {
      ...{
        queue: 'files-to-batch-queue',
        waiting: 2,
        active: 1,
        delayed: 0,
        failed: 0,
        oldestWaitingMs: 90_000,
      },
      paused: true,
    },
  ],
  batches: { total: 3, open: 1, meanFill: 0.974 },
  events: { pending: 0, dead: 0, oldestPendingMs: 0 },
  letters: { open: 1, requeued: 0, resolved: 2, discarded: 0 },
  throughput: [{ at: 0, delivered: 1_000, failed: 1, skipped: 0 }],
  remainingMs: 125_000,
  workers: [
    {
      id: 'batcher-1',
      app: 'batcher',
      jobs: [{ queue: 'files-to-batch-queue', active: 1 }],
      lastSeenAt: 1_000_000,
      state: 'alive',
    },
    { id: 'outbox-publisher-1', app: 'outbox-publisher', jobs: [], lastSeenAt: 940_000, state: 'silent' },
  ],
};

describe('the status of a pipeline', () => {
  it('tells of every part, and only of states that files are in', () => {
    const text = statusReport(view);
    expect(text).toContain('Scan of /srv/docs: running, 4 files of about 9 in 1 folder\n');
    expect(text).toMatch(/^analyzed +1,000 +5\.0 kB$/m);
    expect(text).not.toContain('skipped  ');
    expect(text).toContain('Batches 3, not delivered 1, 97 % full on average');
    expect(text).toContain('Last hour: delivered 1,000, failed 1, skipped 0; time left: about 2m 5s');
    expect(text).toMatch(/^files-to-batch-queue +2 +1 +0 +0 +1m 30s +PAUSED$/m);
    expect(text).toMatch(/^batcher-1 +1 job of files-to-batch-queue +now$/m);
    expect(text).toMatch(/^outbox-publisher-1 +outbox-publisher +1m 0s ago/m);
    expect(text.split('\n').every((line) => line.length <= 120)).toBe(true);
  });

  it('fits a line of a log', () => {
    expect(statusLine(view)).toBe(
      'pending 2, analyzed 1,000, failed 1, open dead letters 1, files-to-batch-queue is paused, about 2m 5s left',
    );
    const idle = {
      ...view,
      files: { ...view.bytes, pending: 0, analyzed: 0, failed: 0 },
      queues: null,
      remainingMs: 0,
    };
    expect(statusLine({ ...idle, letters: { ...view.letters, open: 0 } })).toBe('no files yet');
  });
});
