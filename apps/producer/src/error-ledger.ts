export interface LedgerEntry {
  path: string;
  code: string;
  message: string;
}

/** The non-fatal errors of a run: all of them counted by code, the first of them kept with their paths. */
export class ErrorLedger {
  readonly kept: LedgerEntry[] = [];
  readonly byCode: Record<string, number> = {};
  private count = 0;

  constructor(private readonly limit = 100) {}

  get total(): number {
    return this.count;
  }

  add(entry: LedgerEntry): void {
    this.count++;
    this.byCode[entry.code] = (this.byCode[entry.code] ?? 0) + 1;
    if (this.kept.length < this.limit) this.kept.push(entry);
  }
}
