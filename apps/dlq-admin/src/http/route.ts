import { applyDecorators, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { Needs } from '../access/access.decorators.js';
import { badRequest } from './problems.js';

type Role = Parameters<typeof Needs>[0];

/** A route that only looks: where it is, who may, and what it tells. */
export const Reads = (path: string, role: Role, summary: string): MethodDecorator =>
  applyDecorators(Get(path), Needs(role), ApiOperation({ summary }));

/** A route that changes something, likewise, and its status when all is well. */
export const Changes = (path: string, role: Role, summary: string, status = 200): MethodDecorator =>
  applyDecorators(Post(path), HttpCode(status), Needs(role), ApiOperation({ summary }));

/** The `:id` of a route, in digits that both databases take for a number. */
export const NumericId = (): ParameterDecorator => Param('id', { transform: idOf });

function idOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest('this id is a number of at most 15 digits');
}
