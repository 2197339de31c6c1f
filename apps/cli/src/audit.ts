import { hostname, userInfo } from 'node:os';
import type { AuditEntry } from '#database';

/** What a command did, for the audit log. */
export function auditEntry(
  action: string,
  target: string,
  facts: Pick<AuditEntry, 'before' | 'after'>,
): AuditEntry {
  return { at: Date.now(), actor: actor(), role: 'admin', action, target, ...facts, result: 'ok' };
}

/** Who stands behind a command. */
export function actor(): string {
  return `${userName()}@${hostname()} (command line)`;
}

// A container may run as a number that has no name.
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
