import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiKeyEntity } from './entities/access.entity.js';

/** A key as everybody may see it. */
export type ApiKey = Omit<ApiKeyEntity, 'keyHash'>;
export type StoredApiKey = ApiKeyEntity;

export interface ApiKeyRequest {
  name: string;
  role: ApiKey['role'];
  /** The only queues it may see; all unless given. */
  queues?: string[];
  /** Never expires unless given. */
  expiresInDays?: number;
  /** Id of the key that it takes over from. */
  replaces?: string;
  /** How long the replaced key goes on working; a day unless given. */
  overlapHours?: number;
}

/** The id of the key that the environment gives (ADMIN_KEY). */
export const ENVIRONMENT_KEY = 'env';

const FORM = /^mr_([0-9a-f]{12})_([\w-]{43})$/;
const DAY_MS = 86_400_000;

/** A key as its owner sees it once: `mr_<id>_<secret>`, the secret being 256 random bits. */
export function newApiKey(): { id: string; key: string; hash: string } {
  const id = randomBytes(6).toString('hex');
  const key = `mr_${id}_${randomBytes(32).toString('base64url')}`;
  return { id, key, hash: hashSecret(key) };
}

/** The row of a new key that was asked for by somebody at some time. */
export function apiKeyRow(
  request: ApiKeyRequest,
  made: { id: string; by: string; at: number },
): Readonly<ApiKey> {
  const { name, role, queues, expiresInDays, replaces } = request;
  return {
    id: made.id,
    name,
    role,
    queues: queues ?? null,
    createdBy: made.by,
    createdAt: made.at,
    expiresAt: expiresInDays ? made.at + expiresInDays * DAY_MS : null,
    revokedAt: null,
    lastUsedAt: null,
    replaces: replaces ?? null,
  };
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
