import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiForbiddenResponse, ApiUnauthorizedResponse } from '@nestjs/swagger';
import type { Role } from '#dlq-client';

export const ROLE = 'millrace:role';
export const PUBLIC = 'millrace:public';

/** The least role that may use a route. A route without it is for admins. */
export function Needs(role: Role): MethodDecorator & ClassDecorator {
  return applyDecorators(
    SetMetadata(ROLE, role),
    ApiBearerAuth(),
    ApiUnauthorizedResponse({ description: 'No key, or one that is unknown, expired or revoked.' }),
    ApiForbiddenResponse({ description: `Needs the role ${role}.` }),
  );
}

/** A route that needs no key: probes, and signing in. */
export const Public = (): MethodDecorator => SetMetadata(PUBLIC, true);
