import { randomBytes } from 'node:crypto';
import { hashSecret } from '#database';

/** The `__Host-` prefix makes browsers insist on Secure, no Domain and Path=/; they count loopback as secure. */
const NAME = '__Host-millrace';
const COOKIE = new RegExp(`(?:^|;)\\s*${NAME}=([\\w-]{43})\\s*(?:;|$)`);

export const sessionCookie = (header = ''): string | null => COOKIE.exec(header)?.[1] ?? null;

/** The header that begins a session of so many milliseconds; 0 ends it. */
export const setSessionCookie = (value: string, ttlMs: number): string =>
  `${NAME}=${value}; Path=/; Max-Age=${Math.floor(ttlMs / 1_000)}; HttpOnly; Secure; SameSite=Strict`;

/** A cookie, the token of its page, or a code that signs in once; and the hash that is stored of it. */
export function newSecret(): { secret: string; hash: string } {
  const secret = randomBytes(32).toString('base64url');
  return { secret, hash: hashSecret(secret) };
}
