import { describe, expect, it } from '@jest/globals';
import { newApiKey, type StoredApiKey } from '#database';
import { systemClock, type Logger } from '#service';
import type { DlqAdminConfig, DlqAdminServiceConfig } from '../dlq-admin.config.js';
import { Access } from './access.service.js';
import type { KeysRepository } from './keys.repository.js';

function accessTo(find: (id: string) => StoredApiKey | null): Access {
  const keys = {
    find: async (id: string) => find(id),
    setEnvironmentKey: async () => {},
    anyUsable: async () => true,
  };
  return new Access(
    keys as unknown as KeysRepository,
    {} as DlqAdminConfig,
    { HOST: '127.0.0.1' } as DlqAdminServiceConfig,
    systemClock,
    { warn: () => {}, debug: () => {} } as unknown as Logger,
  );
}

describe('a key that comes while the service starts', () => {
  it('is asked to come again, not refused, until the tables say what ADMIN_KEY is', async () => {
    const access = accessTo(() => null);
    await expect(access.identify('the right one', '::1')).rejects.toMatchObject({ status: 503 });
    await access.start();
    expect(await access.identify('the wrong one', '::1')).toBeNull();
  });
});

describe('a refused key', () => {
  it('takes as long when nobody has it as when its secret is wrong', async () => {
    const { id, key, hash } = newApiKey();
    const stored = { id, keyHash: hash, revokedAt: null, expiresAt: null } as StoredApiKey;
    const access = accessTo((wanted) => (wanted === id ? stored : null));
    await access.start();
    const last = key.endsWith('A') ? 'B' : 'A';
    const presented = {
      wrong: `${key.slice(0, -1)}${last}`,
      unknown: `mr_${'0'.repeat(12)}_${key.slice(16)}`,
      shapeless: 'x'.repeat(key.length),
    };
    const times: Record<string, number[]> = { wrong: [], unknown: [], shapeless: [] };
    // Turn and turn about, so that what else the machine does falls on all alike; each from an address of its own; most are told to wait.
    for (let round = 0; round < 3_000; round++)
      for (const [kind, text] of Object.entries(presented)) {
        const begun = process.hrtime.bigint();
        const owner = await access.identify(text, `${kind}-${round}`).catch(() => null);
        times[kind]?.push(Number(process.hrtime.bigint() - begun));
        expect(owner).toBeNull();
      }
    const medians = Object.values(times).map((all) => all.sort((a, b) => a - b)[all.length >> 1] ?? 0);
    expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(1.4);
  });
});
