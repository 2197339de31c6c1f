import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader, ApiQuery } from '@nestjs/swagger';
import type { Request } from 'express';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { callerOf, type AuthenticatedRequest, type Caller } from '../access/caller.js';
import { badRequest, type ProblemError } from './problems.js';

/** For reads that a person waits for: a search that takes longer is given up, with advice, and costs the database no more. */
export const PATIENCE = { statementTimeoutMs: 3_000 };

/** For lists and figures: a read replica may serve them. */
export const MAY_LAG = { mayLag: true };

type Fault = { path: string; message: string };

export function validationProblem(errors: readonly ValidationError[]): ProblemError {
  const faults = errors.flatMap((error) => faultsOf(error, ''));
  const detail = faults.map(({ message }) => message).join('; ');
  return badRequest(detail || 'the request is not valid', faults);
}

function faultsOf(error: ValidationError, prefix: string): Fault[] {
  const path = prefix ? `${prefix}.${error.property}` : error.property;
  const own = Object.values(error.constraints ?? {}).map((message) => ({ path, message }));
  return [...own, ...(error.children ?? []).flatMap((child) => faultsOf(child, path))];
}

/** Unknown fields are faults. */
export const VALIDATION = { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true };

const MAX_PAYLOAD_CONDITIONS = 5;

/** The query of a list of letters: known fields by the class, and `payload.<path>` for any path. */
function parseLetterQuery<T extends object>(
  type: new () => T,
  query: Record<string, unknown>,
): T & { payload?: Record<string, string> } {
  const entries = Object.entries(query);
  const fields = entries.filter(([name]) => name.startsWith('payload.'));
  const rest = Object.fromEntries(entries.filter(([name]) => !name.startsWith('payload.')));
  const checked = fields.map(([name, value]) => [checkedPath(name), checkedValue(name, value)]);
  const payload = Object.fromEntries(checked) as Record<string, string>;
  if (fields.length > MAX_PAYLOAD_CONDITIONS)
    throw badRequest(`at most ${MAX_PAYLOAD_CONDITIONS} payload conditions`);
  const known = plainToInstance(type, rest);
  const errors = validateSync(known, VALIDATION);
  if (errors.length > 0) throw validationProblem(errors);
  return Object.assign(known, fields.length > 0 && { payload });
}

function checkedPath(name: string): string {
  const path = name.slice('payload.'.length);
  if (/^[^.\s"\\\p{Cc}]{1,100}(\.[^.\s"\\\p{Cc}]{1,100}){0,15}$/u.test(path)) return path;
  throw badRequest(`${name.slice(0, 100)}: write payload.<key>.<key>=<value>`);
}

function checkedValue(name: string, value: unknown): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= 500) return value;
  throw badRequest(`${name.slice(0, 100)}: one value of 1 to 500 characters`);
}

/** The query string of a list of letters, checked by the class. */
export const LetterQueryParam = (type: new () => object): ParameterDecorator =>
  documented(
    ApiQuery({ type }),
    createParamDecorator((_: unknown, context) => parseLetterQuery(type, { ...requestOf(context).query }))(),
  );

const requestOf = (context: ExecutionContext): AuthenticatedRequest => context.switchToHttp().getRequest();

/** A parameter that also tells the OpenAPI document of itself. */
function documented(method: MethodDecorator, parameter: ParameterDecorator): ParameterDecorator {
  return (target, name, index) => {
    const descriptor = name === undefined ? undefined : Object.getOwnPropertyDescriptor(target, name);
    if (name !== undefined && descriptor) method(target, name, descriptor);
    parameter(target, name, index);
  };
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{8,128}$/;

const DOCUMENTED = ApiHeader({
  name: 'Idempotency-Key',
  required: false,
  description: 'The same key again, within a day, has no second effect and the same answer.',
  schema: { type: 'string', minLength: 8, maxLength: 128 },
});

/** Who asks for a change, and the Idempotency-Key, if any. */
export const Asked = (): ParameterDecorator =>
  documented(
    DOCUMENTED,
    createParamDecorator((_: unknown, context): AskedBy => {
      const request = requestOf(context);
      return { caller: callerOf(request), idempotencyKey: idempotencyKeyOf(request) };
    })(),
  );

export interface AskedBy {
  caller: Caller;
  idempotencyKey?: string;
  /** Why; from the body. */
  note?: string;
}

function idempotencyKeyOf({ headers }: Request): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined || (typeof key === 'string' && IDEMPOTENCY_KEY.test(key))) return key;
  const detail = 'Idempotency-Key: 8 to 128 printable characters, given once';
  throw badRequest(detail);
}
