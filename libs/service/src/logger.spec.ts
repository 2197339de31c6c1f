import { describe, expect, it } from '@jest/globals';
import {
  createLogger,
  newTrace,
  withoutControls,
  redactSecrets,
  redactText,
  traceId,
  withTrace,
} from './index.js';

function capture(log: (logger: ReturnType<typeof createLogger>) => void): Record<string, unknown> {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  log(createLogger({ service: 'batcher', workerId: 'w-1', level: 'debug', stream }));
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

describe('logger', () => {
  it('writes JSON with service, worker id, level by name and an ISO time', () => {
    const line = capture((logger) => logger.info({ files: 3 }, 'scanned'));
    expect(line).toMatchObject({
      level: 'info',
      service: 'batcher',
      worker_id: 'w-1',
      files: 3,
      msg: 'scanned',
    });
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  it('adds the trace id of the running work', () => {
    const trace = newTrace();
    const line = capture((logger) => withTrace(trace, () => logger.info('x')));
    expect(line.trace_id).toBe(traceId(trace));
  });

  it('writes one line whatever control characters a name holds', () => {
    const line = capture((logger) => logger.info({ path: 'a\n{"level":"fatal"}\u001b[31m' }, 'x\r\ny'));
    expect(line.path).toBe('a\n{"level":"fatal"}\u001b[31m');
  });

  it('keeps one line one line when made readable', () => {
    const forged = {
      msg: 'a\n[12:00:00] INFO: forged\u001b[31m\u009b',
      err: { stack: 'Error: x\n    at a\r' },
    };
    expect(JSON.parse(JSON.stringify(forged), withoutControls)).toEqual({
      msg: 'a\\n[12:00:00] INFO: forged\\u001b[31m?',
      err: { stack: 'Error: x\n    at a\\r' },
    });
  });

  it('writes an error with its stack and its causes', () => {
    const error = new Error('outer', { cause: new Error('inner') });
    const { err } = capture((logger) => logger.error({ err: error }, 'x')) as { err: { stack: string } };
    expect(err.stack).toMatch(/outer[^]*inner/);
  });

  it('masks secrets by key and by shape', () => {
    const line = capture((logger) =>
      logger.info(
        {
          apiKey: 'k',
          nested: { password: 'p', url: 'redis://u:hunter2@h/0' },
          err: new Error('at postgres://a:hunter2@b'),
        },
        'x',
      ),
    );
    expect(JSON.stringify(line)).not.toMatch(/hunter2|"k"|"p"/);
  });
});

describe('redaction', () => {
  it.each([
    ['a JSON web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij'],
    ['a cloud access key', 'AKIAIOSFODNN7EXAMPLE'],
    ['a code-host token', `ghp_${'a'.repeat(36)}`],
    ['a bearer header', 'Bearer abcdefghijkl'],
    ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----'],
  ])('masks %s inside a text', (_, secret) => {
    const masked = redactText(`before ${secret} after`);
    expect(masked).not.toContain(secret);
    expect(masked).toMatch(/^before .*\[redacted\].* after$/s);
  });

  it('masks a token, which is not a count', () => {
    expect(redactSecrets({ token: 'x', access_token: 'y' })).toEqual({
      token: '[redacted]',
      access_token: '[redacted]',
    });
  });

  it('leaves token counts alone', () => {
    const counts = { tokens: 1, totalTokens: 2, max_tokens: 3, token_count: 4 };
    expect(redactSecrets(counts)).toEqual(counts);
  });

  it('ends on deep nesting', () => {
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 10_000; level++) deep = { deep };
    expect(JSON.stringify(redactSecrets(deep))).toContain('[too deep]');
  });
});

describe('trace', () => {
  it('replaces a malformed trace instead of trusting it', () => {
    const line = capture((logger) => withTrace('00-evil\n', () => logger.info('x')));
    expect(line.trace_id).toMatch(/^[0-9a-f]{32}$/);
  });
});
