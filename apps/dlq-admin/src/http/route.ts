import { applyDecorators, Get, HttpCode, Param, Post, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension, ApiOperation } from '@nestjs/swagger';
import type { Role } from '#dlq-client';
import { badRequest } from './problems.js';

export const ROLE = 'millrace:role';
export const PUBLIC = 'millrace:public';

/** The least role that may use a route. A route without it is for admins. */
export function Needs(role: Role): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ROLE, role), ApiBearerAuth(), ApiExtension('x-role', role));
}

/** A route that needs no key: probes, and signing in. */
export const Public = (): MethodDecorator =>
  applyDecorators(SetMetadata(PUBLIC, true), ApiExtension('x-role', 'public'));

/** A route that only looks: where it is, who may, and what it tells. */
export const Reads = (path: string, role: Role, summary: string, verb = Get): MethodDecorator =>
  applyDecorators(verb(path), Needs(role), ApiOperation({ summary }));

/** A route that changes something, likewise, and its status when all is well. */
export const Changes = (
  path: string,
  role: Role,
  summary: string,
  status = 200,
  verb = Post,
): MethodDecorator => applyDecorators(verb(path), HttpCode(status), Needs(role), ApiOperation({ summary }));

/** The `:id` of a route, in digits that both databases take for a number. */
export const NumericId = (): ParameterDecorator => Param('id', { transform: idOf });

function idOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest('this id is a number of at most 15 digits');
}
