import { describe, expect, it } from '@jest/globals';
import { fromWire, toWire } from './thread-wire.js';

const across = (thrown: unknown): Error & Record<string, unknown> =>
  fromWire(structuredClone(toWire(thrown))) as Error & Record<string, unknown>;

describe('errors between threads', () => {
  it('keep name, message, stack and facts such as the code', () => {
    const original = Object.assign(new RangeError('too far'), { code: 'TOO_FAR', errno: -2, path: '/a' });
    const copy = across(original);
    expect(copy).toBeInstanceOf(Error);
    expect(copy).toMatchObject({
      name: 'RangeError',
      message: 'too far',
      code: 'TOO_FAR',
      errno: -2,
      path: '/a',
    });
    expect(copy.stack).toBe(original.stack);
  });

  it('keep their causes', () => {
    const copy = across(new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'EACCES' }) }));
    expect(copy.cause).toMatchObject({ message: 'inner', code: 'EACCES' });
  });

  it('end even when a cause points back to its error', () => {
    const error = new Error('circular');
    error.cause = error;
    expect(across(error).message).toBe('circular');
  });

  it('leave out facts that cannot pass', () => {
    const copy = across(Object.assign(new Error('x'), { code: 'C', retry: () => {}, job: { id: 1 } }));
    expect(Object.keys(copy)).toEqual(['code']);
  });

  it.each([[undefined], [null], ['text'], [42], [Object.create(null)]])(
    'are made from %p, which is none',
    (thrown: unknown) => {
      expect(across(thrown).message).toMatch(/^the task threw /);
    },
  );
});
