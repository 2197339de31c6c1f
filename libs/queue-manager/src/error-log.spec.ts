import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#service';
import { FakeClock } from '#testing';
import { ErrorLog } from './error-log.js';

describe('the error log', () => {
  it('says one line of a kind each ten seconds, and how many it kept to itself', () => {
    const lines: Record<string, unknown>[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    const clock = new FakeClock();
    const log = new ErrorLog(createLogger({ service: 's', workerId: 'w', level: 'info', stream }), clock);
    for (let index = 0; index < 300; index++) log.error(new Error(`lock of job-${index} lost`), 'failed');
    log.error(new Error('something else'), 'failed');
    expect(lines).toHaveLength(2);
    clock.advance(10_000);
    log.error(new Error('lock of job-301 lost'), 'failed');
    expect(lines.at(-1)).toMatchObject({ unsaid: 299, level: 'warn' });
  });
});
