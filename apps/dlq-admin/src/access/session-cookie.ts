/** The `__Host-` prefix makes browsers insist on Secure, no Domain and Path=/; they count loopback as secure. */
const NAME = '__Host-millrace';

export function sessionCookie(header: string | undefined): string | null {
  for (const pair of (header ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === NAME && value && /^[\w-]{43}$/.test(value)) return value;
  }
  return null;
}

export function setSessionCookie(value: string, ttlMs: number): string {
  return `${NAME}=${value}; Path=/; Max-Age=${Math.floor(ttlMs / 1_000)}; HttpOnly; Secure; SameSite=Strict`;
}

export const clearSessionCookie = (): string =>
  `${NAME}=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict`;
