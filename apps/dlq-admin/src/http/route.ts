import { applyDecorators, Get, HttpCode, Post } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { Needs } from '../access/access.decorators.js';

type Role = Parameters<typeof Needs>[0];

/** A route that only looks: where it is, who may, and what it tells. */
export const Reads = (path: string, role: Role, summary: string): MethodDecorator =>
  applyDecorators(Get(path), Needs(role), ApiOperation({ summary }));

/** A route that changes something, likewise, and its status when all is well. */
export const Changes = (path: string, role: Role, summary: string, status = 200): MethodDecorator =>
  applyDecorators(Post(path), HttpCode(status), Needs(role), ApiOperation({ summary }));
