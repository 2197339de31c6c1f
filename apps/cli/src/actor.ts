import { hostname, userInfo } from 'node:os';

/** Who stands behind a command, for the audit log. */
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
