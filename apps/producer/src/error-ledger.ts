import type { Logger } from '#service';
import type { RefusedLine } from '#tree';

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

  /** Every thread that meets the line tells. */
  ruleRefused({ file, line, pattern }: RefusedLine): void {
    const message = `line ${line} is not followed, it has too many wildcards: ${pattern}`;
    const told = `${file}: ${message}`;
    if (this.refusedRules.has(told)) return;
    this.refusedRules.add(told);
    this.add({ path: file, code: 'RULE_REFUSED', message });
    this.logger.warn({ path: file }, told);
  }

  private add(entry: LedgerEntry): void {
    this.byCode[entry.code] = (this.byCode[entry.code] ?? 0) + 1;
    if (this.kept.length < this.limit) this.kept.push(entry);
  }
}
