import { describe, expect, it } from '@jest/globals';
import { NotRunHere } from '#testing';
import { HostsRefusedError, storm } from './storm/storm.js';

const full = process.env.MILLRACE_TORTURE === 'full';

describe('a storm over several hosts', () => {
  it('loses nothing and sends nothing twice while hosts are parted', async () => {
    const told: string[] = [];
    const log = (line: string): void => void told.push(line);
    const options = {
      kind: 'postgres',
      seed: 3,
      files: 150,
      seconds: full ? 120 : 20,
      haste: full ? 1 : 2,
      log,
      hosts: true,
    } as const;
    try {
      const { findings, faults } = await storm(options);
      if (findings.length > 0) throw new Error(`${findings.join('\n')}\n${told.join('\n')}`);
      expect(faults).toMatchObject({ 'host-unplugged': expect.any(Number) });
    } catch (error) {
      if (!(error instanceof HostsRefusedError)) throw error;
      expect(error.message).toMatch(/^network namespaces cannot be made here \(ip .+\); run as root/);
      throw new NotRunHere(error.message);
    }
  }, 600_000);
});
