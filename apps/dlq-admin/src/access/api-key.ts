import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const FORM = /^mr_([0-9a-f]{12})_([\w-]{43})$/;

/** A key as its owner sees it once: `mr_<id>_<secret>`, the secret being 256 random bits. */
export function newApiKey(): { id: string; key: string; hash: string } {
  const id = randomBytes(6).toString('hex');
  const key = `mr_${id}_${randomBytes(32).toString('base64url')}`;
  return { id, key, hash: hashSecret(key) };
}

/** The public id in a presented key, or null when it is no key of ours. */
export function apiKeyId(presented: string): string | null {
  return FORM.exec(presented)?.[1] ?? null;
}

/** Secrets of 256 random bits need no slow hash; what must not leak is their text. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether the presented secret has the stored hash, in time that does not depend on where they differ. */
export function secretMatches(presented: string, storedHash: string): boolean {
  const a = createHash('sha256').update(presented).digest();
  const b = Buffer.from(storedHash.padEnd(64, '0').slice(0, 64), 'hex');
  return b.length === a.length && timingSafeEqual(a, b);
}

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
