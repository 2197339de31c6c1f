import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#service';
import { elapsedText, Progress, progressLine } from './progress.js';

const POOL = { queued: 900, active: 8, processed: 820, failed: 2 };
const FACTS = { folders: 823, files: 6420, pool: POOL, workers: 8, elapsedMs: 75_400, hashMbPerSecond: 0 };

function options(terminal: { isTTY?: boolean; text: string }, lines: string[]) {
  return {
    facts: () => FACTS,
    wanted: true,
    terminal: { isTTY: terminal.isTTY, write: (text: string) => (terminal.text += text) },
    logEveryMs: 1000,
    logger: createLogger({
      service: 'test',
      workerId: 'w',
      level: 'info',
      stream: { write: (line) => void lines.push(line) },
    }),
  };
}

describe('progress', () => {
  it('reads as people expect it', () => {
    expect(progressLine(FACTS, 0)).toBe('⠋ Folders: 823 | Files: 6,420 | Workers: 8/8 | Elapsed: 1m 15s');
    expect(progressLine(FACTS, 11)).toMatch(/^⠙ /);
  });

  it.each([
    [0, '0s'],
    [59_999, '59s'],
    [60_000, '1m 0s'],
    [3_600_000, '1h 0m 0s'],
    [7_503_000, '2h 5m 3s'],
  ])('tells %d ms as %s', (ms, text) => {
    expect(elapsedText(ms)).toBe(text);
  });

  it('renews one line on a terminal and clears it at the end', () => {
    const terminal = { isTTY: true, text: '' };
    const progress = new Progress(options(terminal, []));
    progress.draw();
    progress.draw();
    progress.stop();
    expect(terminal.text.match(/\r/g)).toHaveLength(3);
    expect(terminal.text).not.toContain('\n');
    expect(terminal.text.endsWith('\r\u001b[2K')).toBe(true);
  });

  it('writes a log line elsewhere, and nothing to the terminal', () => {
    const terminal = { text: '' };
    const lines: string[] = [];
    const progress = new Progress(options(terminal, lines));
    progress.log();
    progress.stop();
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'scan-progress', files: 6420, pool: POOL });
    expect(terminal.text).toBe('');
  });
});
