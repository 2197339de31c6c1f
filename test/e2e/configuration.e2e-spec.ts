import { describe, expect, it } from '@jest/globals';
import { spawnProgram } from '#testing';

describe('docs/configuration.md', () => {
  it('says what the configuration classes say', async () => {
    const check = spawnProgram(process.execPath, ['scripts/docs.mjs', '--check']);
    expect(await check.exited).toEqual({ code: 0, signal: null });
  });
});
