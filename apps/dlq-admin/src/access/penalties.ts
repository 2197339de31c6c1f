import type { Clock } from '#service';

const FREE_FAILURES = 5;
const BASE_MS = 1_000;
const MAX_MS = 5 * 60_000;
const FORGET_MS = 15 * 60_000;
const MAX_ADDRESSES = 10_000;

interface Record {
  failures: number;
  until: number;
}

/** Makes wrong keys wait, twice as long each time, by what they have in common. Bounded in memory: the oldest are forgotten. */
export class Penalties {
  private readonly records = new Map<string, Record>();

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /** How long the next wrong key still has to wait. */
  waitMs(address: string): number {
    const record = this.records.get(address);
    return record ? Math.max(0, record.until - this.clock.monotonic()) : 0;
  }

  punish(address: string): void {
    const record = this.records.get(address);
    const isOld = record !== undefined && this.clock.monotonic() - record.until > FORGET_MS;
    const failures = (isOld ? 0 : (record?.failures ?? 0)) + 1;
    this.records.delete(address);
    this.records.set(address, { failures, until: this.clock.monotonic() + penaltyMs(failures) });
    const oldest = this.records.size > MAX_ADDRESSES ? this.records.keys().next().value : undefined;
    if (oldest !== undefined) this.records.delete(oldest);
  }
}

export function penaltyMs(failures: number): number {
  return failures <= FREE_FAILURES ? 0 : Math.min(MAX_MS, BASE_MS * 2 ** (failures - FREE_FAILURES - 1));
}
