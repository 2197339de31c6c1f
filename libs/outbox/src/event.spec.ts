import { describe, expect, it } from '@jest/globals';
import { jobIdOf, serialize } from './event.js';

const event = { queue: 'q', payload: { a: 1 } };

describe('an event to be stored', () => {
  it('keeps its payload and options as JSON text', () => {
    expect(serialize('x', { ...event, jobOptions: { priority: 3 } })).toEqual({
      payload: '{"a":1}',
      jobOptions: '{"priority":3}',
    });
    expect(serialize('x', event).jobOptions).toBeNull();
  });

  it('may hold text that a database would refuse', () => {
    const { payload } = serialize('x', { queue: 'q', payload: { text: 'a\0b\ud800' } });
    expect(payload).toBe('{"text":"a\\u0000b\\ud800"}');
  });

  it.each([
    ['', 'empty'],
    ['a:b', 'with a colon'],
    ['x'.repeat(129), 'too long'],
    ['a\0', 'with NUL'],
  ])('has no id %j (%s)', (id) => {
    expect(() => serialize(id, event)).toThrow(expect.objectContaining({ code: 'OUTBOX_INVALID_EVENT' }));
  });

  it.each(['', 'a:b', 'x'.repeat(513)])('names no queue %j, which could never take it', (queue) => {
    expect(() => serialize('x', { ...event, queue })).toThrow(
      expect.objectContaining({ code: 'OUTBOX_INVALID_EVENT' }),
    );
  });

  it.each([[[1]], [() => 1], ['text'], [7], [null], [undefined]])('has no payload %p', (payload) => {
    expect(() => serialize('x', { queue: 'q', payload: payload as object })).toThrow(
      expect.objectContaining({ code: 'OUTBOX_INVALID_EVENT' }),
    );
  });

  it('names the cause when JSON refuses the payload', () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const failure = (): unknown => {
      try {
        return serialize('x', { queue: 'q', payload: loop });
      } catch (error) {
        return error;
      }
    };
    expect(failure()).toMatchObject({ code: 'OUTBOX_INVALID_EVENT', cause: expect.any(TypeError) });
  });

  it('has one job id for ever, which a queue takes', () => {
    expect(jobIdOf('123')).toBe('e-123');
  });
});
