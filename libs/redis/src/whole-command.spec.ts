import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Command } from 'ioredis';
import { wholeCommand, writeCommandsWhole } from './whole-command.js';

const socket = {};

const anyBuffer = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const anyArgument = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), anyBuffer, fc.integer());

describe('a command written whole', () => {
  it('has the bytes that ioredis writes, whatever its arguments', () => {
    const cases = fc.sample(fc.array(anyArgument), 500).map((args) => new Command('evalsha', args));
    const expected = cases.map((command) => command.toWritable(socket));
    writeCommandsWhole();
    expect(cases.map((command) => command.toWritable(socket))).toEqual(expected);
  });

  it('keeps every byte of a Buffer', () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    expect(wholeCommand(['set', all])).toEqual(
      Buffer.concat([Buffer.from('*2\r\n$3\r\nset\r\n$256\r\n'), all, Buffer.from('\r\n')]),
    );
  });

  it.each([
    ['text that is not ASCII', 'é'],
    ['a long Buffer', Buffer.alloc(5_000)],
  ])('is left to ioredis with %s', (_, argument) => {
    expect(wholeCommand(['set', argument])).toBeUndefined();
  });
});
