import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ROLES, type Role } from '#dlq-client';

/** Who makes a request, as the guard found out. */
export interface Caller {
  mode: 'key' | 'session' | 'loopback';
  keyId: string;
  name: string;
  role: Role;
  /** The queues the caller may see; null for all. */
  queues: readonly string[] | null;
  ip: string;
}

export type AuthenticatedRequest = Request & { caller?: Caller };

/** The name under which a caller's deeds are recorded. */
export const actorOf = ({ name, keyId }: Caller): string => `${name} (${keyId})`;

export const mayAct = (caller: Caller, role: Role): boolean =>
  ROLES.indexOf(caller.role) >= ROLES.indexOf(role);

export const sees = ({ queues }: Caller, queue: string): boolean => !queues || queues.includes(queue);

export function callerOf(request: AuthenticatedRequest): Caller {
  // Unreachable behind the guard; a route that escaped it must fail closed.
  if (!request.caller) throw new Error('no caller: the route is not behind the access guard');
  return request.caller;
}

export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<AuthenticatedRequest>()),
);
