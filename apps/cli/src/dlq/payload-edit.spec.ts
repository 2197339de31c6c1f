import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { differenceLines, differences, parseAssignment, removeAt, setAt } from './payload-edit.js';

describe('an assignment', () => {
  it.each([
    ['user.id=7', { path: 'user.id', value: 7 }],
    ['zip="0123"', { path: 'zip', value: '0123' }],
    ['name=Joe Doe', { path: 'name', value: 'Joe Doe' }],
    ['q=a=b', { path: 'q', value: 'a=b' }],
    ['list=[1,null]', { path: 'list', value: [1, null] }],
    ['empty=', { path: 'empty', value: '' }],
  ])('%s is read as JSON, or as text when it is none', (text, expected) => {
    expect(parseAssignment(text)).toEqual(expected);
  });

  it('needs a path', () => {
    expect(() => parseAssignment('=7')).toThrow('write <path>=<value>');
    expect(() => parseAssignment('user')).toThrow('write <path>=<value>');
  });
});

describe('editing places of a payload', () => {
  const payload = { a: { b: [1, 2] }, c: null };

  it('changes a copy', () => {
    expect(setAt(payload, 'a.b[1]', 9)).toEqual({ a: { b: [1, 9] }, c: null });
    expect(setAt(payload, 'a.b.2', 3)).toEqual({ a: { b: [1, 2, 3] }, c: null });
    expect(setAt(payload, 'x.y.z', 1)).toEqual({ ...payload, x: { y: { z: 1 } } });
    expect(removeAt(payload, 'a.b[0]')).toEqual({ a: { b: [2] }, c: null });
    expect(removeAt(payload, 'c')).toEqual({ a: { b: [1, 2] } });
    expect(payload).toEqual({ a: { b: [1, 2] }, c: null });
  });

  it('refuses places that cannot be', () => {
    expect(() => setAt(payload, 'c.d', 1)).toThrow('no place c.d');
    expect(() => setAt(payload, 'a.b[5]', 1)).toThrow('allowed is 0 to 2');
    expect(() => setAt(payload, 'a.b.length', 1)).toThrow('no place of a list');
    expect(() => removeAt(payload, 'a.x')).toThrow('no place a.x');
    expect(() => setAt(7, 'a', 1)).toThrow('no place a');
  });

  it('never reaches a prototype', () => {
    const edited = setAt({}, '__proto__.polluted', true);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.hasOwn(edited as object, '__proto__')).toBe(true);
    expect(() => removeAt({}, 'toString')).toThrow('no place');
  });
});

describe('differences', () => {
  it('name each place once, with both sides', () => {
    const changes = differences({ a: 1, b: { c: [1, 2] }, d: 0 }, { a: '1', b: { c: [1, 3, 4] }, e: null });
    expect(differenceLines(changes)).toEqual([
      '- a: 1',
      '+ a: "1"',
      '- b.c[1]: 2',
      '+ b.c[1]: 3',
      '+ b.c[2]: 4',
      '- d: 0',
      '+ e: null',
    ]);
  });

  it('are none exactly when the payloads say the same', () => {
    const value = fc.jsonValue().map((one) => JSON.parse(JSON.stringify(one)) as unknown);
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(differences(a, structuredClone(a))).toEqual([]);
        expect(differences(a, b).length === 0).toBe(JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)));
      }),
    );
  });

  it('of what is nested 100,000 deep are found', () => {
    const nest = (core: unknown): unknown => {
      let at = core;
      for (let depth = 0; depth < 100_000; depth++) at = [at];
      return at;
    };
    expect(differences(nest(1), nest(2))).toMatchObject([{ before: 1, after: 2 }]);
  });

  it('are shown without characters that act on a terminal', () => {
    const [line] = differenceLines(differences({}, { '\u001b[2J': '\u202ex\u009b' }));
    expect(line).toBe('+ \\u001b[2J: "\\u202ex\\u009b"');
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { entries: entries.map(([key, one]) => [key, sorted(one)]) };
}
