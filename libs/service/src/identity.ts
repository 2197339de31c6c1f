import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** Who this process is: its app and the id that logs, claims and dead letters carry. */
export interface Identity {
  app: string;
  workerId: string;
}

/** Stable for the life of the process, unique across restarts unless the operator names it. */
export function identify(app: string, workerId?: string): Identity {
  const host = hostname().replace(/[^\w.-]/g, '-');
  return { app, workerId: workerId ?? `${app}-${host}-${randomBytes(4).toString('hex')}` };
}
