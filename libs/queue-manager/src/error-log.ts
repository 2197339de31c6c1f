import { errorCode, systemClock, type Clock, type Logger } from '#service';

const QUIET_MS = 10_000;

/** Logs errors that may come in floods: one line of a kind each 10 s, with the number that went unsaid. */
export class ErrorLog {
  private readonly kinds = new Map<string, { until: number; unsaid: number }>();

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock = systemClock,
  ) {}

  error(error: unknown, message: string): void {
    const kind = `${message} ${kindOf(error)}`;
    const now = this.clock.monotonic();
    const known = this.kinds.get(kind);
    if (known && now < known.until) {
      known.unsaid++;
      return;
    }
    if (this.kinds.size > 100) this.kinds.clear();
    this.kinds.set(kind, { until: now + QUIET_MS, unsaid: 0 });
    this.logger.warn({ err: error, ...(known?.unsaid && { unsaid: known.unsaid }) }, message);
  }
}

// Messages differ by job id or port only: what counts is their shape.
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return `${error.name} ${errorCode(error) ?? ''} ${error.message.replace(/[\w-]*\d[\w-]*/g, '#').slice(0, 60)}`;
}
