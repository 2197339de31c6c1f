import type { CheckResult, Exception } from './verify.js';

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
  { count, rows }: Finding<Record<string, unknown>>,
  name: string,
  promise: string,
): CheckResult {
  return { name, promise, ok: count === 0, violations: count, rows };
}

export function asException(
  { count, rows }: Finding<Exception['rows'][number]>,
  name: string,
  cause: string,
  cure: string,
): Exception {
  return { name, cause, cure, count, rows };
}
