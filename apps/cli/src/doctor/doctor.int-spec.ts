import { describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { DATABASE_KINDS, emptyDatabase, withTempFolder } from '#testing';
import { openDatabase } from '../../../../libs/database/src/database.fixture.js';
import { DataDirectory } from '../fleet/data-directory.js';
import type { Places } from '../settings.js';
import { checkNode, diagnose, doctorReport, type Finding } from './doctor.js';

async function lookAt(check: string, places: { data: string; databaseUrl?: string }): Promise<Finding> {
  const data = new DataDirectory(places.data);
  const patient: Places = {
    data,
    databaseUrl: places.databaseUrl ?? data.databaseUrl,
    redisUrl: undefined,
    adminUrl: undefined,
    adminKey: undefined,
  };
  const findings = await diagnose({ places: patient, directory: undefined });
  return findings.find((finding) => finding.check === check)!;
}

describe('doctor', () => {
  it.each(['20.18.3', '18.20.0', '20'])('finds Node %s too old', (version) => {
    expect(() => checkNode(version)).toThrow(/too old; install Node 20.19 or newer/);
  });

  it.each(['20.19.0', '22.0.0', '24.1.0'])('is content with Node %s', (version) => {
    expect(checkNode(version)).toBe(`Node ${version}`);
  });

  it('says where the first run makes its database', async () => {
    await withTempFolder(async (folder) => {
      const { ok, found } = await lookAt('database', { data: join(folder, 'not-yet') });
      expect([ok, found]).toEqual([true, expect.stringContaining('none yet')]);
    });
  });

  it.each(DATABASE_KINDS)('tells a database without our schema from one that has it, on %s', async (kind) => {
    const target = await emptyDatabase(kind);
    try {
      const look = async (): Promise<string> =>
        (await lookAt('database', { data: '/tmp', databaseUrl: target.url })).found;
      expect(await look()).toMatch(/^reachable; .*millrace migrate/);
      await (await openDatabase(target.url)).stop();
      expect(await look()).toBe(`${kind}, schema up to date, writable`);
    } finally {
      await target.remove();
    }
  });

  it('says how much must be free where there is no room', async () => {
    const { ok, found } = await lookAt('disk', { data: '/proc/millrace' });
    expect([ok, found]).toEqual([
      false,
      expect.stringMatching(/free at \/proc; free at least .* or choose --data/),
    ]);
  });

  it('shows every finding in a line of its own', () => {
    const report = doctorReport([
      { check: 'node', ok: true, found: 'Node 24' },
      { check: 'redis', ok: false, found: 'none;\n  install one' },
    ]);
    expect(report.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^CHECK +STATE +FOUND/),
      expect.stringMatching(/^node +ok +Node 24/),
      expect.stringMatching(/^redis +missing +none; install one/),
    ]);
  });
});
