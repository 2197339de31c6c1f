import { describe, expect, it } from '@jest/globals';
import type { LetterDetail } from '#dlq-client';
import { tableOf } from '../../output/table.js';
import { LETTER_COLUMNS, letterReport } from './letters.command.js';

const HOSTILE = '\u001b]0;owned\u0007\u001b[2J\u202e\u009b1m\r<script>alert(1)</script>';

function letter(given: Partial<LetterDetail> = {}): LetterDetail {
  return {
    id: 42,
    queue: 'q',
    jobId: 'j-1',
    name: 'job',
    reason: 'error',
    errorName: 'TypeError',
    errorMessage: 'x is not a function',
    group: 'abc',
    attemptsMade: 3,
    lastWorkerId: 'w-1',
    enqueuedAt: 0,
    failedAt: 1_000,
    deadLetteredAt: 2_000,
    status: 'open',
    replayCount: 0,
    replayedAt: null,
    resolvedAt: null,
    resolvedBy: null,
    note: null,
    version: 1,
    payload: { user: { id: 7 } },
    stack: 'TypeError: x\n    at run (a.js:1:1)',
    hidden: false,
    redactedPaths: [],
    faults: [],
    options: {},
    attempts: [{ attempt: 1, error: 'x', at: 500 }],
    history: [{ at: 2_000, actor: 'intake', event: 'dead-lettered', details: {} }],
    replayJobId: null,
    trace: null,
    traceUrl: null,
    ...given,
  };
}

describe('a letter on the terminal', () => {
  it('shows what failed, why, and with what', () => {
    const text = letterReport(letter());
    expect(text).toContain('Letter    42 (open, version 1)');
    expect(text).toContain('Error     TypeError: x is not a function');
    expect(text).toContain('      "id": 7');
    expect(text).toContain('\n      at run (a.js:1:1)\n');
    expect(text).toContain('dead-lettered by intake');
  });

  it('is inert wherever hostile text may stand', () => {
    const everywhere = letter({
      queue: HOSTILE,
      jobId: HOSTILE,
      name: HOSTILE,
      errorName: HOSTILE,
      errorMessage: HOSTILE,
      group: HOSTILE,
      lastWorkerId: HOSTILE,
      note: HOSTILE,
      trace: HOSTILE,
      payload: { [HOSTILE]: HOSTILE },
      stack: `${HOSTILE}\n${HOSTILE}`,
      redactedPaths: [HOSTILE],
      faults: [{ path: HOSTILE, found: HOSTILE, rule: HOSTILE }],
      attempts: [{ attempt: 1, error: HOSTILE }],
      history: [{ at: 1, actor: HOSTILE, event: HOSTILE, details: { note: HOSTILE } }],
    });
    const shown = letterReport(everywhere) + tableOf([everywhere], LETTER_COLUMNS);
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
  });

  it('stays short for a payload of a megabyte, and for one nested thousands deep', () => {
    const long = letterReport(letter({ payload: { text: 'x'.repeat(1_000_000) } }));
    expect(long.length).toBeLessThan(25_000);
    expect(long).toMatch(/characters more; -o json shows them all/);
    const deep = JSON.parse(`${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`) as unknown;
    expect(letterReport(letter({ payload: deep })).length).toBeLessThan(25_000);
  });

  it('tells a viewer why there is no payload', () => {
    const text = letterReport(letter({ hidden: true, payload: null, stack: null }));
    expect(text).toContain('shown to operators');
    expect(text).not.toContain('Stack');
  });
});
