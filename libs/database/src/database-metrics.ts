import type { Metrics } from '#service';
import type { DatabaseErrorKind } from './error-kind.js';

/** What the database reports about itself. */
export class DatabaseMetrics {
  private readonly durations;
  private readonly retries;

  constructor(metrics: Metrics) {
    this.durations = metrics.histogram<'outcome'>({
      name: 'millrace_database_transaction_seconds',
      help: 'Time of a transaction from its call to its end, waits and retries included.',
      labels: ['outcome'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    });
    this.retries = metrics.counter<'reason'>({
      name: 'millrace_database_retries_total',
      help: 'Transactions tried again, by what ended the try before.',
      labels: ['reason'],
    });
  }

  async time<T>(transaction: () => Promise<T>): Promise<T> {
    const done = this.durations.startTimer();
    try {
      const value = await transaction();
      done({ outcome: 'committed' });
      return value;
    } catch (error) {
      done({ outcome: 'failed' });
      throw error;
    }
  }

  retried(reason: DatabaseErrorKind): void {
    this.retries.inc({ reason });
  }
}
