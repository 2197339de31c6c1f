import type { Role } from '#dlq-client';
import { createLogger } from '#service';
import { eventually } from '#testing';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

export type Headers = Record<string, string>;

export const JSON_BODY = { 'content-type': 'application/json' };

/** dlq-admin with two letters and a key for each role, called over plain HTTP. */
export class Callers {
  private constructor(
    readonly admin: TestDlqAdmin,
    readonly keys: Readonly<Record<Role, string>>,
    /** The letter in `q-a`; the other is in `q-b`. */
    readonly letterId: number,
    /** All that was logged so far. */
    readonly logged: () => string,
  ) {}

  static async start(): Promise<Callers> {
    let logged = '';
    const stream = { write: (line: string) => void (logged += line) };
    const logger = createLogger({ service: 'dlq-admin', workerId: 'w', level: 'debug', stream });
    const admin = await startDlqAdmin('sqlite', { logger });
    await admin.send([deadLetter({ queue: 'q-a', data: { hello: 'world' } }), deadLetter({ queue: 'q-b' })]);
    await eventually(async () => (await admin.client.count()).count === 2);
    const letterId = (await admin.client.letters({ queue: 'q-a' })).items[0]?.id ?? 0;
    const keys = {} as Record<Role, string>;
    for (const role of ['admin', 'operator', 'viewer'] as const)
      keys[role] = (await admin.withKey({ name: role, role })).key;
    return new Callers(admin, keys, letterId, () => logged);
  }

  readonly call = (method: string, path: string, headers: Headers = {}, body?: string): Promise<Response> =>
    fetch(`${this.admin.url}${path}`, { method, headers, body, redirect: 'manual' });

  readonly as = (role: Role): Headers => ({ authorization: `Bearer ${this.keys[role]}` });
}

export const problemOf = async (reply: Response): Promise<string> =>
  ((await reply.json()) as { code: string }).code;
