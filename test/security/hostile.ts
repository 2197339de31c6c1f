import { testSeed, type Random } from '#testing';

/** What every fuzz draws from; its title names it, and MILLRACE_SEED repeats it. */
export const seed = testSeed();

const TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '0',
  '-1',
  '1e309',
  'NaN',
  '9223372036854775808',
  '99999999999999999999999999',
  'null',
  'undefined',
  'true',
  '[]',
  '{}',
  '__proto__',
  'constructor',
  'toString',
  '../../../../etc/passwd',
  '/etc/shadow',
  'file:///etc/passwd',
  "' OR 1=1 --",
  '"; DROP TABLE files; --',
  '$1',
  '%',
  '%ff',
  '%s%s%n',
  '${7*7}',
  '(a+)+$',
  '*'.repeat(64),
  '<script>alert(1)</script>',
  '\r\nSet-Cookie: a=b',
  '\u001b[31m',
  '\u202e',
  '\ud800',
  '\uffff',
  '😀'.repeat(50),
  'a\u0301'.repeat(50),
  ','.repeat(3_000),
  'eyJ-'.repeat(700),
  'x'.repeat(3_000),
  '2026-13-45T99:99:99Z',
  'redis://:@:0/',
  'https://[::1]:99999/?#',
] as const;

const NUMBERS = [0, -0, -1, 0.5, 1, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, Number.MIN_VALUE];
const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'toJSON', 'length', 'then', ''];

export const hostileText = (random: Random): string =>
  random.next() < 0.2 ? random.pick(TEXTS) + random.pick(TEXTS) : random.pick(TEXTS);

/** Anything that JSON can hold, seldom what was meant. */
export function hostileValue(random: Random, names: readonly string[] = [], depth = 3): unknown {
  const kind = random.between(0, depth > 0 ? 7 : 4);
  if (kind <= 1) return hostileText(random);
  if (kind === 2) return random.pick(NUMBERS);
  if (kind === 3) return random.pick([null, true, false]);
  if (kind === 4) return nested(random.between(1, 60));
  const inner = (): unknown => hostileValue(random, names, depth - 1);
  if (kind === 5) return Array.from({ length: random.pick([0, 1, 3, 200]) }, inner);
  const keys = Array.from({ length: random.between(0, 5) }, () =>
    random.pick([...names, ...names, ...NAMES, hostileText(random)]),
  );
  // Parsed, so that `__proto__` is a key like any other, as it is in what arrives.
  return JSON.parse(
    `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(inner())}`).join(',')}}`,
  ) as unknown;
}

/** A good object with one to three of its values, at any depth, replaced or gone. */
export function spoiled<T extends object>(good: T, random: Random): Record<string, unknown> {
  const copy = structuredClone(good) as Record<string, unknown>;
  for (let n = random.between(1, 3); n > 0; n--) spoil(copy, random);
  return copy;
}

function spoil(within: Record<string, unknown>, random: Random): void {
  const keys = Object.keys(within);
  if (keys.length === 0) return;
  const key = random.pick(keys);
  const value = within[key];
  if (typeof value === 'object' && value !== null && random.next() < 0.7)
    return spoil(value as Record<string, unknown>, random);
  if (random.next() < 0.2) delete within[key];
  else within[key] = hostileValue(random);
}

function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value };
  return value;
}

/** Seconds of processor time that this process spent on the work: a busy machine does not make it longer. */
export async function cpuSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
