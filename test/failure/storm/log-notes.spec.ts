import { describe, expect, it } from '@jest/globals';
import { escapedErrors, severeKinds } from './log-notes.js';

describe('notes from logs', () => {
  it('count severe lines by kind, whoever wrote them', () => {
    const line = { level: 'error', msg: 'lost 3 links' };
    const kinds = severeKinds(new Map(), 'batcher-1', [line, { level: 'info', msg: 'fine' }]);
    severeKinds(kinds, 'batcher-2', [{ ...line, msg: 'lost 14 links' }]);
    expect([...kinds]).toEqual([['batcher error: lost N links', 2]]);
  });

  it('tell of errors that nobody caught', () => {
    const lines = [
      { level: 'fatal', msg: 'unhandledRejection; shutting down' },
      { level: 'fatal', msg: 'failed to start' },
    ];
    expect(escapedErrors('analyzer-1', lines)).toEqual([expect.stringContaining('unhandledRejection')]);
  });
});
