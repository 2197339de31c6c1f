import { Column, DefaultNamingStrategy, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

// 64-bit integers reach JavaScript as numbers; every value stored here (ids, milliseconds, bytes) is far below 2^53.
const asNumber = {
  to: (value: unknown) => value,
  from: (value: unknown) => (value === null || value === undefined ? value : Number(value)),
};
const asBoolean = {
  to: (value: unknown) => (typeof value === 'boolean' ? Number(value) : value),
  from: (value: unknown) => Number(value) === 1,
};
const asJson = {
  to: (value: unknown) => (value === null || value === undefined ? value : JSON.stringify(value)),
  from: (value: unknown) => (typeof value === 'string' ? (JSON.parse(value) as unknown) : value),
};

interface Options {
  nullable?: boolean;
  default?: string | number;
  select?: boolean;
}

export const Id = (): PropertyDecorator => PrimaryGeneratedColumn({ type: 'integer' });
export const KeyText = (): PropertyDecorator => PrimaryColumn({ type: 'text' });
export const KeyInt = (): PropertyDecorator => PrimaryColumn({ type: 'bigint', transformer: asNumber });
export const Text = (options: Options = {}): PropertyDecorator => Column({ type: 'text', ...options });
export const Int = (options: Options = {}): PropertyDecorator =>
  Column({ type: 'bigint', transformer: asNumber, ...options });
/** 0 or 1 in SQL, boolean here. */
export const Flag = (): PropertyDecorator => Column({ type: 'smallint', transformer: asBoolean, default: 0 });
/** JSON as text: PostgreSQL's own type refuses \u0000, which payloads may hold. */
export const Json = (options: Options = {}): PropertyDecorator =>
  Column({ type: 'text', transformer: asJson, ...options });

export function columnName(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** camelCase here, snake_case in the database. */
export class SnakeCase extends DefaultNamingStrategy {
  override columnName(property: string, custom: string | undefined): string {
    return custom ?? columnName(property);
  }
}
