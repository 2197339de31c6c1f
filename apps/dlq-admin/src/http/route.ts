import { applyDecorators, Controller, Get, HttpCode, Param, Post, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Role } from '#dlq-client';
import { badRequest } from './problems.js';

export const ROLE = 'millrace:role';

/** The least role that may use a route; `public` needs no key. A route without it is for admins. */
export type Least = Role | 'public';

export function Needs(role: Least): MethodDecorator & ClassDecorator {
  const key = role === 'public' ? [] : [ApiBearerAuth()];
  return applyDecorators(SetMetadata(ROLE, role), ApiExtension('x-role', role), ...key);
}

/** The routes about one thing, after which most of their addresses are named. */
export const Routes = (about: string, path = about.replaceAll(' ', '-')): ClassDecorator =>
  applyDecorators(ApiTags(about), Controller(`api/v1/${path}`));

/** A route that only looks: where it is, who may, and what it tells. */
export const Reads = (path: string, role: Role, summary: string, verb = Get): MethodDecorator =>
  applyDecorators(verb(path), Needs(role), ApiOperation({ summary }));

/** A route that changes something, likewise, and its status when all is well. */
export const Changes = (
  path: string,
  role: Least,
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
