import type { CheckResult } from './verify.js';

/** Counts all rows of one kind and keeps the first of them. */
export class Finding<Row extends object> {
  count = 0;
  readonly rows: Row[] = [];

  constructor(private readonly limit: number) {}

  add(row: Row): void {
    this.count++;
    if (this.rows.length < this.limit) this.rows.push(row);
  }
}

export function asCheck(
  { count, rows }: Pick<Finding<Record<string, unknown>>, 'count' | 'rows'>,
  name: string,
  promise: string,
): CheckResult {
  return { name, promise, ok: count === 0, violations: count, rows };
}
