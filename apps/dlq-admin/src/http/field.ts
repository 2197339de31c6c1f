import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';

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
