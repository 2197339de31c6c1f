import {
  ArrayMaxSize,
  ArrayUnique,
  IsBoolean,
  IsIn,
  IsInt,
  IsString,
  Matches,
  Max,
  Min,
  ValidateBy,
} from 'class-validator';
import { addKey, type KeySpec } from './key.js';

/** In the place of a default: the key must be given. */
export const REQUIRED: unique symbol = Symbol('required');
/** In the place of a default: the field stays undefined unless the key is given. */
export const OPTIONAL: unique symbol = Symbol('optional');

type Otherwise<T> = T | typeof REQUIRED | typeof OPTIONAL;
type Marks = Pick<KeySpec, 'secret' | 'hidden'>;
type TextForm = { matches?: RegExp; must?: string };

/** A whole number from `min` on. */
export function Int(
  meaning: string,
  otherwise: Otherwise<number>,
  [min, max]: [min: number, max?: number],
  marks: Marks = {},
): PropertyDecorator {
  const allowed = `integer ≥ ${min}${max === undefined ? '' : `, ≤ ${max}`}`;
  const bounds = max === undefined ? [Min(min)] : [Min(min), Max(max)];
  return key({ kind: 'integer', meaning, allowed, ...marks }, otherwise, [IsInt(), ...bounds]);
}

export function Flag(meaning: string, otherwise: Otherwise<boolean>): PropertyDecorator {
  return key({ kind: 'boolean', meaning, allowed: 'boolean' }, otherwise, [IsBoolean()]);
}

/** One of a few words. */
export function Choice<T extends string>(
  meaning: string,
  otherwise: Otherwise<T>,
  choices: readonly T[],
): PropertyDecorator {
  return key({ kind: 'string', meaning, allowed: choices.join(', ') }, otherwise, [IsIn(choices)]);
}

/** A text, of a pattern if one is given, which `must` puts in words: "must be …". */
export function Text(
  meaning: string,
  otherwise: Otherwise<string>,
  { matches, must = String(matches), ...marks }: TextForm & Marks = {},
): PropertyDecorator {
  const rules = matches ? [Matches(matches, { message: `$property must be ${must}` })] : [];
  return key({ kind: 'string', meaning, allowed: 'string', ...marks }, otherwise, [IsString(), ...rules]);
}

/** A text that is never shown; it may be given by the path of a file, as `<KEY>_FILE`. */
export const Secret = (meaning: string, otherwise: Otherwise<string>, form: TextForm = {}) =>
  Text(meaning, otherwise, { ...form, secret: true });

/** Texts, in the environment with commas between them. `each` of them passes the test, which `must` puts in words. */
export function List(
  meaning: string,
  otherwise: Otherwise<readonly string[]>,
  { each = () => true, must = 'a text', max = 1_000, unique = false, ...marks }: ListRules & Marks = {},
): PropertyDecorator {
  const passes = (list: unknown): boolean =>
    Array.isArray(list) && list.every((item) => typeof item === 'string' && each(item));
  return key({ kind: 'list', meaning, allowed: 'list, comma-separated', ...marks }, otherwise, [
    check('each', `each item of $property must be ${must}`, passes),
    ArrayMaxSize(max),
    ...(unique ? [ArrayUnique()] : []),
  ]);
}

interface ListRules {
  each?: (item: string) => boolean;
  must?: string;
  max?: number;
  unique?: boolean;
}

/** An address on the web; credentials in it are not shown. */
export function Url(
  meaning: string,
  otherwise: Otherwise<string>,
  protocols: readonly ('http' | 'https')[] = ['http', 'https'],
): PropertyDecorator {
  const must = protocols.map((protocol) => `${protocol}://…`).join(' or ');
  const fits = (value: unknown): boolean =>
    typeof value === 'string' &&
    protocols.some((protocol) => value.startsWith(`${protocol}://`)) &&
    URL.canParse(value);
  return key({ kind: 'string', meaning, allowed: 'string', secret: 'url' }, otherwise, [
    check('url', `$property must be ${must}`, fits),
  ]);
}

/** A text of the one form that its kind has. */
const formed = (form: TextForm & Marks) => (meaning: string, otherwise: Otherwise<string>) =>
  Text(meaning, otherwise, form);

// One place or several (Sentinel and Cluster list their nodes, with commas), optional credentials, optional path.
export const RedisUrl = formed({
  matches: /^(rediss?|rediss?\+(sentinel|cluster)|unix):\/\/.+/,
  must: 'redis://…, rediss://…, redis+sentinel://…, redis+cluster://… or unix://…',
  secret: 'url',
});

export const DatabaseUrl = formed({
  matches: /^(sqlite:.+|postgres(ql)?:\/\/.+)/,
  must: 'sqlite:<path> or postgres://user:password@host:port/database',
  secret: 'url',
});

// BullMQ builds keys with colons, so a queue's name or prefix may not hold one.
const NAME = /^[\w{}.-]{1,100}$/;
export const QUEUE_NAME = '1 to 100 letters, digits or any of _ - . { }';
export const isQueueName = (name: string): boolean => NAME.test(name);
export const QueueName = formed({ matches: NAME, must: QUEUE_NAME });

function key<T extends KeySpec['default']>(
  spec: Omit<KeySpec, 'name' | 'default' | 'optional'>,
  otherwise: Otherwise<T>,
  rules: readonly PropertyDecorator[],
): PropertyDecorator {
  const fallback =
    typeof otherwise === 'symbol' ? { optional: otherwise === OPTIONAL } : { default: otherwise };
  return (target, property) => {
    addKey(target, { ...spec, ...fallback, name: String(property) });
    for (const decorate of rules) decorate(target, property);
  };
}

function check(name: string, message: string, validate: (value: unknown) => boolean): PropertyDecorator {
  return ValidateBy({ name, validator: { validate, defaultMessage: () => message } });
}
