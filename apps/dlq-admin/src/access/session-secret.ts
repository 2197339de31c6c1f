import { createHash, randomBytes } from 'node:crypto';
import { hashSecret } from '#database';

/** A new session's cookie value, the CSRF token that follows from it, and the hashes that are stored of both. */
export function newSession(): { cookie: string; csrf: string; idHash: string; csrfHash: string } {
  const cookie = randomBytes(32).toString('base64url');
  const csrf = csrfTokenOf(cookie);
  return { cookie, csrf, idHash: hashSecret(cookie), csrfHash: hashSecret(csrf) };
}

/** Follows from the cookie, which script cannot read: a page that was told it once can be told it again. */
export function csrfTokenOf(cookie: string): string {
  return createHash('sha256').update(`csrf\0${cookie}`).digest('base64url');
}
