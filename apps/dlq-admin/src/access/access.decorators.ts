import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension } from '@nestjs/swagger';
import type { Role } from '#dlq-client';

export const ROLE = 'millrace:role';
export const PUBLIC = 'millrace:public';

/** The least role that may use a route. A route without it is for admins. */
export function Needs(role: Role): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ROLE, role), ApiBearerAuth(), ApiExtension('x-role', role));
}

/** A route that needs no key: probes, and signing in. */
export const Public = (): MethodDecorator =>
  applyDecorators(SetMetadata(PUBLIC, true), ApiExtension('x-role', 'public'));
