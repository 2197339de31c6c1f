import { randomBytes } from 'node:crypto';
import { hashSecret } from '#database';

const secret = (): string => randomBytes(32).toString('base64url');

/** A new session's cookie value, the token that its page keeps, and the hashes that are stored of both. */
export function newSession(): { cookie: string; csrf: string; idHash: string; csrfHash: string } {
  const [cookie, csrf] = [secret(), secret()];
  return { cookie, csrf, idHash: hashSecret(cookie), csrfHash: hashSecret(csrf) };
}

/** A code that signs a browser in once. */
export function newSignInCode(): { code: string; codeHash: string } {
  const code = secret();
  return { code, codeHash: hashSecret(code) };
}
