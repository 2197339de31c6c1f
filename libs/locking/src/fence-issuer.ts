/**
 * Issues the numbers that order the holders of a key. Each is greater than every number issued for that key before,
 * whatever happens to Redis; so it must not be kept in Redis. `issue` settles within a limit of its own, as the database's
 * transactions do.
 */
export interface FenceIssuer {
  issue(key: string): Promise<number>;
}

/** Fences for one process without a database: benchmarks, and tests that are not about fencing. */
export class MemoryFences implements FenceIssuer {
  private readonly last = new Map<string, number>();

  issue(key: string): Promise<number> {
    const fence = (this.last.get(key) ?? 0) + 1;
    this.last.set(key, fence);
    return Promise.resolve(fence);
  }
}
