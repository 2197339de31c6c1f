import { describe, expect, it } from '@jest/globals';
import { closingTable } from './report.js';

describe('the closing table', () => {
  it('has a line for each storm, with its verdict', () => {
    const result = {
      findings: [],
      notes: [],
      faults: { kill: 2, freeze: 1 },
      counts: { analyzed: 300, skipped: 4 },
      requests: 41,
      drainMs: 12_345,
      mostMegabytes: 140,
    };
    expect(
      closingTable([
        { seed: 7, kind: 'sqlite', result: { ...result, verdict: 'held' } },
        { seed: 12, kind: 'postgres', result: { ...result, verdict: 'broken' } },
      ]),
    ).toBe(
      [
        'seed  database  verdict  faults  files  requests  drain s  most MB',
        '7     sqlite    HELD     3       304    41        12       140',
        '12    postgres  BROKEN   3       304    41        12       140',
      ].join('\n'),
    );
  });
});
