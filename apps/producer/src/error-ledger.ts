import type { Logger } from '#service';

export interface LedgerEntry {
  path: string;
  code: string;
  message: string;
}

/** The non-fatal errors of a run: all of them logged and counted by code, the first of them kept with their paths. */
export class ErrorLedger {
  readonly kept: LedgerEntry[] = [];
  readonly byCode: Record<string, number> = {};
  private readonly refusedRules = new Set<string>();

  constructor(
    private readonly logger: Logger,
    private readonly limit = 100,
  ) {}

  unreadable(path: string, code: string, message: string): void {
    this.add({ path, code, message });
    this.logger.warn({ path, code }, `not readable: ${message}`);
  }

  /** A line of an ignore file that is not followed; every thread that meets it tells. */
  ruleRefused(path: string, message: string): void {
    const told = `${path}: ${message}`;
    if (this.refusedRules.has(told)) return;
    this.refusedRules.add(told);
    this.add({ path, code: 'RULE_REFUSED', message });
    this.logger.warn({ path }, told);
  }

  private add(entry: LedgerEntry): void {
    this.byCode[entry.code] = (this.byCode[entry.code] ?? 0) + 1;
    if (this.kept.length < this.limit) this.kept.push(entry);
  }
}
