import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DlqAdminConfig } from '../dlq-admin.config.js';
import { IdentityTokens } from './identity-tokens.js';

const ISSUER = 'https://id.example';
type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

describe('tokens of an identity provider', () => {
  let server: Server;
  let own: Pair;
  let foreign: Pair;
  let tokens: IdentityTokens;
  const asked: string[] = [];
  beforeAll(async () => {
    [own, foreign] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
    const jwk = { ...(await exportJWK(own.publicKey)), kid: 'k', alg: 'ES256', use: 'sig' };
    server = createServer(({ url }, response) => {
      asked.push(url ?? '');
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    tokens = new IdentityTokens({
      OIDC_ISSUER: ISSUER,
      OIDC_JWKS_URL: `http://127.0.0.1:${port}/jwks`,
      OIDC_AUDIENCE: 'millrace',
      OIDC_ROLE_CLAIM: 'millrace_role',
    } as DlqAdminConfig);
  });
  afterAll(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));

  const sign = (claims: object = {}, { pair = own, header = {}, expires = '5m' } = {}): Promise<string> =>
    new SignJWT({ iss: ISSUER, aud: 'millrace', sub: 'ada', millrace_role: 'operator', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k', ...header })
      .setExpirationTime(expires)
      .sign(pair.privateKey);

  it('name a caller with the role of the claim', async () => {
    const token = await sign({ email: 'ada@example.org', millrace_role: ['viewer', 'operator', 'other'] });
    expect(tokens.isOne(token)).toBe(true);
    expect(await tokens.identify(token)).toEqual({
      keyId: 'oidc:ada',
      name: 'ada@example.org',
      role: 'operator',
      queues: null,
    });
  });

  it('are refused when forged, expired, for others, without a role, or by another way of signing', async () => {
    const jwk = await exportJWK(foreign.publicKey);
    const forged: Record<string, string> = {
      'another key': await sign({}, { pair: foreign }),
      'key in its own header': await sign({}, { pair: foreign, header: { jwk } }),
      'keys at an address of its own': await sign(
        {},
        { pair: foreign, header: { jku: 'https://evil.example/jwks' } },
      ),
      'another issuer': await sign({ iss: 'https://evil.example' }),
      'another audience': await sign({ aud: 'another' }),
      expired: await sign({}, { expires: '-1m' }),
      'no role': await sign({ millrace_role: 'root' }),
      'no signature': new UnsecuredJWT({ iss: ISSUER, aud: 'millrace', sub: 'ada', millrace_role: 'admin' })
        .setExpirationTime('5m')
        .encode(),
      'a shared secret': await new SignJWT({
        iss: ISSUER,
        aud: 'millrace',
        sub: 'ada',
        millrace_role: 'admin',
      })
        .setProtectedHeader({ alg: 'HS256', kid: 'k' })
        .setExpirationTime('5m')
        .sign(Buffer.from(JSON.stringify(await exportJWK(own.publicKey)))),
      tampered: (await sign()).replace(
        /\.[\w-]+\./,
        `.${Buffer.from('{"sub":"root"}').toString('base64url')}.`,
      ),
    };
    for (const [what, token] of Object.entries(forged))
      expect([what, await tokens.identify(token)]).toEqual([what, null]);
    expect(new Set(asked)).toEqual(new Set(['/jwks']));
  });

  it('are not taken until an issuer is configured', async () => {
    const off = new IdentityTokens({ OIDC_ROLE_CLAIM: 'millrace_role' } as DlqAdminConfig);
    expect([off.isOne(await sign()), await off.identify(await sign())]).toEqual([false, null]);
  });

  it('let nobody in while the keys of the issuer cannot be had', async () => {
    const away = new IdentityTokens({
      OIDC_ISSUER: ISSUER,
      OIDC_JWKS_URL: 'http://127.0.0.1:1/jwks',
    } as DlqAdminConfig);
    await expect(away.identify(await sign())).rejects.toThrow();
  });
});
