import { describe, expect, it } from '@jest/globals';
import { newApiKey, type StoredApiKey } from '#database';
import { systemClock, type Logger } from '#service';
import type { DlqAdminConfig, DlqAdminServiceConfig } from '../dlq-admin.config.js';
import { Access } from './access.service.js';
import type { KeysRepository } from './keys.repository.js';

describe('a refused key', () => {
  it('takes as long when nobody has it as when its secret is wrong', async () => {
    const { id, key, hash } = newApiKey();
    const stored = { id, keyHash: hash, revokedAt: null, expiresAt: null } as StoredApiKey;
    const access = new Access(
      { find: async (wanted: string) => (wanted === id ? stored : null) } as unknown as KeysRepository,
      {} as DlqAdminConfig,
      {} as DlqAdminServiceConfig,
      systemClock,
      { warn: () => {} } as unknown as Logger,
    );
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
