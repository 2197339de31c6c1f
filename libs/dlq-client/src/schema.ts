declare const SHAPE: unique symbol;

/** As much of JSON Schema 2020-12 as the answers need, and the type of what fits it. */
export interface Schema<T = unknown> {
  readonly [keyword: string]: unknown;
  readonly [SHAPE]?: T;
}
export type Shape<S> = S extends Schema<infer T> ? T : never;

type Properties = Readonly<Record<string, Schema>>;
type Fields<P extends Properties, O extends keyof P> = {
  [K in Exclude<keyof P, O>]: Shape<P[K]>;
} & { [K in O]?: Shape<P[K]> };

export const text = (example: string, more: object = {}): Schema<string> => ({
  type: 'string',
  examples: [example],
  ...more,
});
export const int = (example: number): Schema<number> => ({ type: 'integer', examples: [example] });
export const number = (example: number): Schema<number> => ({ type: 'number', examples: [example] });
export const flag = (example: boolean): Schema<boolean> => ({ type: 'boolean', examples: [example] });
export const oneOf = <const V extends readonly string[]>(values: V): Schema<V[number]> => ({
  type: 'string',
  enum: values,
  examples: [values[0]],
});
export const list = <T>(items: Schema<T>): Schema<T[]> => ({ type: 'array', items });
export const always = <const T>(value: T): Schema<T> => ({ const: value, examples: [value] });
export const anything = <T = unknown>(example: unknown): Schema<T> => ({ examples: [example] });
export const map = (example: object): Schema<Record<string, unknown>> => ({
  type: 'object',
  additionalProperties: true,
  examples: [example],
});

export function orNull<T>(schema: Schema<T>): Schema<T | null> {
  if ('$ref' in schema) return { anyOf: [schema, { type: 'null' }] };
  const values = 'enum' in schema && { enum: [...(schema.enum as string[]), null] };
  return { ...schema, type: [schema.type, 'null'].flat(), ...values };
}

/** An object with exactly these fields. */
export function fields<P extends Properties, O extends keyof P = never>(
  properties: P,
  optional: readonly O[] = [],
): Schema<Fields<P, O>> {
  const required = Object.keys(properties).filter((name) => !optional.includes(name as O));
  return { type: 'object', properties, required, additionalProperties: false };
}

/** A shape by its name in the document. */
export const ref = <T>(name: string, _of?: Schema<T>): Schema<T> => ({
  $ref: `#/components/schemas/${name}`,
});
