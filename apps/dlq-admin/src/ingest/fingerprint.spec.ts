import { describe, expect, it } from '@jest/globals';
import { causeOf, firstOwnFrame, normaliseMessage } from './fingerprint.js';

describe('normaliseMessage', () => {
  it.each([
    ["ENOENT: no such file, open '/data/a/report-17.csv'", 'ENOENT: no such file, open <text>'],
    ['cannot read /data/in/x.txt after 31 ms', 'cannot read <path> after # ms'],
    ['C:\\data\\in\\x.txt is locked', '<path> is locked'],
    ['user 3fa85f64-5717-4562-b3fc-2c963f66afa6 not found', 'user <id> not found'],
    ['GET https://a.example/x?y=1 answered 503', 'GET <url> answered 503'],
    ['hash 9f86d081884c7d659a2feaa0c55ad015 differs', 'hash <hex> differs'],
    ['at 2026-01-02T03:04:05.678Z it failed', 'at <time> it failed'],
    ['first line\nsecond line', 'first line'],
    [
      'refused with status 413: {"error":"too many tokens: 130211"}; requeue',
      'refused with status 413: {error: too many tokens: #}; requeue',
    ],
    [
      'refused with status 401: {"code":"bad_token","id":"a-17"}',
      'refused with status 401: {"code":"bad_token",<text>:<text>}',
    ],
    ['E11000 duplicate key 17 of "orders"', 'E11000 duplicate key # of <text>'],
    ['waited 503 ms for job 404', 'waited # ms for job #'],
    ['hash deadbeef0123456789 differs', 'hash <hex> differs'],
    ['effacedfacade is a word', 'effacedfacade is a word'],
    ['  set apart  ', 'set apart'],
  ])('takes out what varies: %s', (message, normalised) => {
    expect(normaliseMessage(message)).toBe(normalised);
  });

  it.each([
    ['HTTP 502 after 31 ms', 'HTTP 502 after # ms'],
    ['HTTP/2 502 after 31 ms', 'HTTP/2 502 after # ms'],
    ['HTTP/1.1 502 after 31 ms', 'HTTP/1.1 502 after # ms'],
    ['status: 503 after 31 ms', 'status: 503 after # ms'],
    ['{"statusCode":503}', '{"statusCode":503}'],
    ['ORA-00942: table 17 does not exist', 'ORA-00942: table # does not exist'],
    ['{"code":1045,"id":17}', '{"code":1045,<text>:#}'],
    ['{"code":-32600,"id":17}', '{"code":-32600,<text>:#}'],
  ])('keeps what tells causes apart: %s', (message, normalised) => {
    expect(normaliseMessage(message)).toBe(normalised);
  });

  it('keeps the first 20 codes of a message', () => {
    const codes = Array.from({ length: 20 }, (_, at) => `E${100 + at}`).join(' ');
    expect(normaliseMessage(`${codes} E120 E121`)).toBe(`${codes} E# E#`);
  });

  it('takes no character of a message for its own mark', () => {
    expect(normaliseMessage('a\u0001g of E11000')).toBe('ag of E11000');
  });

  it('reads the first 1,200 characters of a message', () => {
    expect(normaliseMessage(`${'1'.repeat(1_195)} tail`)).toBe('<hex> tail');
    expect(normaliseMessage(`${'1'.repeat(1_200)} tail`)).toBe('<hex>');
  });

  it('is bounded in its result and linear on hostile text', () => {
    for (const text of [
      '"'.repeat(1_000_000),
      '/a'.repeat(500_000),
      '\\'.repeat(1_000_000),
      'a'.repeat(1_000_000),
    ]) {
      const begun = process.cpuUsage();
      expect(normaliseMessage(text).length).toBeLessThanOrEqual(300);
      expect(process.cpuUsage(begun).user).toBeLessThan(1_000_000);
    }
  });
});

describe('firstOwnFrame', () => {
  it('passes over Node and node_modules, and forgets line numbers and deployment', () => {
    const stack = (root: string, line: number): string =>
      `Error: x\n    at node:internal/a:1:1\n    at dep (${root}/node_modules/dep/i.js:1:2)\n    at async Reader.read (file://${root}/dist/apps/batcher/src/reader.js:${line}:7)`;
    expect(firstOwnFrame(stack('/srv/one', 3))).toBe('Reader.read (apps/batcher/src/reader.js)');
    expect(firstOwnFrame(stack('/opt/two', 99))).toBe(firstOwnFrame(stack('/srv/one', 3)));
  });

  it.each([
    'at dep (node_modules/dep/i.js:1:2)',
    'at Array.map (<anonymous>)',
    'at Array.map (native)',
    'at run ()',
    'at least one file is missing at /srv/in/a.csv',
  ])('passes over what is no frame of ours: %s', (line) => {
    expect(firstOwnFrame(`Error: x\n    ${line}\n    at run (/srv/apps/x/a.js:1:1)`)).toBe(
      'run (apps/x/a.js)',
    );
  });

  it.each([
    ['at run (src/main.ts:12:34)', 'run (src/main.ts)'],
    ['at run (/srv/libs/a/b.js)', 'run (libs/a/b.js)'],
    ['at run (/srv/apps/node:18/a.js:1:1)', 'run (apps/node:18/a.js)'],
    ['at run (/srv/apps/native:1:1)', 'run (apps/native)'],
    ['at run (native/a.js:1:1)', 'run (native/a.js)'],
    ['at run (evalmachine.<anonymous>:1:1)', 'run (evalmachine.<anonymous>)'],
    ['at run (/apps/batcher/src/reading/a.js:1:1)', 'run (apps/batcher/src/reading/a.js)'],
    ['at file:///main.js:1:1', '/main.js'],
    ['at /home/me/work/project/src/main.ts:4:2', 'project/src/main.ts'],
  ])('takes a frame for ours: %s', (line, frame) => {
    expect(firstOwnFrame(`Error: x\n    ${line}`)).toBe(frame);
  });

  it('reads lines of at most 2,000 characters in the first 65,536 of a stack', () => {
    const line = (length: number): string => `at ${'a'.repeat(length - 3)}`;
    expect(firstOwnFrame(line(2_000))).toBe('a'.repeat(1_997));
    expect(firstOwnFrame(line(2_001))).toBe('');
    const before = (length: number): string => `${'x'.repeat(length - 1)}\n`;
    expect(firstOwnFrame(`${before(65_536 - 8)}at /a.js`)).toBe('/a.js');
    expect(firstOwnFrame(`${before(65_536)}at /a.js`)).toBe('');
  });

  it('is empty for a stack without frames of ours', () => {
    expect(firstOwnFrame('Error: x\n    at node:fs:1:1')).toBe('');
    expect(firstOwnFrame('no stack at all')).toBe('');
  });

  it('understands frames without a function and Windows paths', () => {
    expect(firstOwnFrame('E\n    at /home/me/project/src/main.ts:4:2')).toBe('project/src/main.ts');
    expect(firstOwnFrame('E\n    at run (C:\\work\\libs\\queue\\src\\a.ts:1:1)')).toBe(
      'run (libs/queue/src/a.ts)',
    );
  });
});

describe('causeOf', () => {
  it('tells answers apart that an analyser gives for different reasons, and not those that differ in a number', () => {
    const answer = (status: number, error: string): string =>
      causeOf(
        'RefusedError',
        `the analyser refused the batch with status ${status}: {"error":"${error}"}`,
        '',
      ).fingerprint;
    const causes = [
      answer(400, 'schema violation'),
      answer(401, 'bad token'),
      answer(413, 'too many tokens: 130211'),
    ];
    expect(new Set(causes).size).toBe(3);
    expect(answer(413, 'too many tokens: 99')).toBe(causes[2]);
    expect(answer(400, 'bad token')).not.toBe(causes[1]);
  });

  it.each(['code', 'type', 'status'])('tells codes apart that stand in the field "%s"', (field) => {
    const refused = (code: string): string => normaliseMessage(`refused: {"${field}":"${code}"}`);
    expect(refused('E11000')).toBe(`refused: {"${field}":"E11000"}`);
    expect(refused('E22000')).not.toBe(refused('E11000'));
  });

  it('is one for failures that differ in ids only, and another for another error, message or place', () => {
    const stack = 'Error: x\n    at a (/app/apps/x/src/a.js:1:1)';
    const base = causeOf('Error', 'file 1 is gone', stack).fingerprint;
    expect(base).toMatch(/^[0-9a-f]{24}$/);
    expect(causeOf('Error', 'file 22 is gone', stack.replace('1:1', '9:9')).fingerprint).toBe(base);
    expect(causeOf('TypeError', 'file 1 is gone', stack).fingerprint).not.toBe(base);
    expect(causeOf('Error', 'file 1 is here', stack).fingerprint).not.toBe(base);
    expect(causeOf('Error', 'file 1 is gone', stack.replace('at a', 'at b')).fingerprint).not.toBe(base);
  });
});
