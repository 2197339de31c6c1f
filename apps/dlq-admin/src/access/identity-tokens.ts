import { Injectable } from '@nestjs/common';
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { ROLES, type Role } from '#dlq-client';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import type { Identified } from './access.service.js';

const FORM = /^[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}$/;
// Public keys only: with a secret that both sides know, whoever can check a token could make one. Never `none`.
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const FETCHING = { timeoutDuration: 3_000, cooldownDuration: 10_000 };
const RULES = { algorithms: ALGORITHMS, clockTolerance: 5, requiredClaims: ['exp', 'sub', 'aud'] };

// The provider's keys cannot be had; every other code is about the token.
const AWAY = [errors.JWKSTimeout.code, 'ERR_JOSE_GENERIC'];

/**
 * Signed tokens of the company's identity provider, off until OIDC_ISSUER is given. Keys come from the configured address
 * alone, never from one that the token names; issuer, audience and time must fit; a claim says the role.
 */
@Injectable()
export class IdentityTokens {
  private readonly keys: JWTVerifyGetKey | undefined;

  constructor(private readonly config: DlqAdminConfig) {
    const { OIDC_ISSUER, OIDC_JWKS_URL } = config;
    if (OIDC_ISSUER && OIDC_JWKS_URL) this.keys = createRemoteJWKSet(new URL(OIDC_JWKS_URL), FETCHING);
  }

  /** Whether a secret looks like such a token, and they are taken here. */
  isOne(presented: string): boolean {
    return this.keys !== undefined && FORM.test(presented);
  }

  /** Whom the token names; null when it is not valid here. Throws when the provider's keys cannot be had. */
  async identify(token: string): Promise<Identified | null> {
    if (!this.keys) return null;
    const { OIDC_ISSUER: issuer, OIDC_AUDIENCE: audience } = this.config;
    try {
      const { payload } = await jwtVerify(token, this.keys, { ...RULES, issuer, audience });
      return this.owner(payload);
    } catch (error) {
      const isRefusal = error instanceof errors.JOSEError && !AWAY.includes(error.code);
      if (isRefusal) return null;
      throw error;
    }
  }

  private owner(payload: JWTPayload): Identified | null {
    const claimed = [payload[this.config.OIDC_ROLE_CLAIM]].flat();
    const role = ROLES.findLast((one: Role) => claimed.includes(one));
    if (!role || !payload.sub) return null;
    const names = [payload.email, payload.preferred_username, payload.sub];
    const name = names.find((one) => typeof one === 'string');
    const keyId = `oidc:${payload.sub.slice(0, 100)}`;
    return { keyId, name: String(name).slice(0, 100), role, queues: null };
  }
}
