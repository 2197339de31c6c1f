import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import type { Page } from '#dlq-client';
import { invalidField } from './problems.js';

/** A field of a request that may be missing: what the document tells of it, and what it must be. */
export const Optional = (told: ApiPropertyOptions, ...checks: PropertyDecorator[]): PropertyDecorator =>
  applyDecorators(ApiPropertyOptional(told), IsOptional(), ...checks);

/** A field that must be there, likewise. */
export const Required = (told: ApiPropertyOptions, ...checks: PropertyDecorator[]): PropertyDecorator =>
  applyDecorators(ApiProperty(told), ...checks);

export const between = (min: number, max: number): PropertyDecorator[] => [IsInt(), Min(min), Max(max)];
export const text = (min: number, max: number): PropertyDecorator[] => [IsString(), Length(min, max)];

/** Digits only: `1e9`, ` 7` and arrays stay what they are and fail the check. */
export const ToInteger = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value,
  );

export class NoteDto {
  @Optional({ description: 'Why; kept in history and audit log.', maxLength: 500 }, ...text(0, 500))
  note?: string;
}

const MAX_PAGE = 200;
export const PageCursor = Optional({ description: 'The `next` of the page before.' }, ...text(0, 400));
const told = { type: Number, default: 50, maximum: MAX_PAGE };
export const PageLimit = Optional(told, ToInteger(), ...between(1, MAX_PAGE));

export class PageQuery {
  @PageCursor cursor?: string;
  @PageLimit limit = 50;
}

/** A place in a list ordered by time and id, newest first. */
export interface Cursor {
  at: number;
  id: number | string;
}

export function encodeCursor({ at, id }: Cursor): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url');
}

/** The page of `limit` rows, of which one more was read to know whether another page follows. */
export function pageOf<T>(rows: readonly T[], limit: number, cursorOf: (row: T) => Cursor): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last ? encodeCursor(cursorOf(last)) : null };
}

/** Refuses what `encodeCursor` did not make of an id of this type. */
export function decodeCursor(text: string | undefined, ids: 'number' | 'string'): Cursor | null {
  if (text === undefined) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const [at, id, ...more] = Array.isArray(value) ? (value as unknown[]) : [];
    if (isInteger(at) && isId(id) && typeof id === ids && more.length === 0) return { at, id };
  } catch {
    // Falls through to the one answer for every bad cursor.
  }
  throw invalidField('cursor', 'take `cursor` from the `next` of the page before');
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isId = (value: unknown): value is number | string =>
  isInteger(value) || (typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value));
