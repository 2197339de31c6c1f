import { Processor } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import { BATCH_EVENT, QUEUE, type BatchEvent } from '#contracts';
import { Database, isTransient } from '#database';
import { RedisConfig } from '#redis';
import {
  done,
  giveUp,
  JobProcessor,
  retryAfter,
  type JobContext,
  type JobOutcome,
  type QueueWorkerOptions,
  type RetryAfter,
} from '#queue-manager';
import {
  Coalescer,
  down,
  faultPoint,
  LOGGER,
  newTrace,
  recordSpan,
  tellDone,
  traceId,
  type Health,
  type Logger,
  Metrics,
} from '#service';
import { AnalyzerConfig, batchesAtOnce } from './analyzer.config.js';
import { BatchAwayError, BatchRefusedError, UnknownBatchError } from './analyzer.errors.js';
import { DestinationGate } from './destination-gate.js';
import { DeliveryRepository, type DeliveredBatch } from './delivery.repository.js';
import { ManifestService } from './manifest.service.js';
import { OpenBatches, type BatchState, type OpenBatch } from './open-batches.repository.js';
import { SINK, type Delivery, type Sink } from './sink.js';

// What the database cannot do now it can do later; the batch is not at fault.
const DATABASE_RETRY_MS = 2_000;
const AWAY_RETRY_MS = 10_000;
const TELL_EVERY_MS = 10_000;
// Keeps a transaction short enough for the others that wait.
const ITEMS_PER_TRANSACTION = 5_000;
// Of batches that come one close after the other, several share a transaction.
const GATHER_MS = 20;

/**
 * Consumes batches. The sink's effect comes first and is idempotent by batch id; then one transaction records it, with
 * the inbox entry that keeps a second delivery from being recorded. Delivery at least once, effect once.
 */
@Processor(QUEUE.fileAnalysis)
export class AnalyzerService extends JobProcessor<BatchEvent> {
  readonly name = 'analyzer';
  protected readonly contract = BATCH_EVENT;
  private readonly open: Coalescer<string, BatchState>;
  private readonly recorded: Coalescer<{ batch: OpenBatch; delivery: DeliveredBatch }, boolean>;
  private readonly gate: DestinationGate;
  private readonly files;
  private readonly batches;
  private toldPutOff = -Infinity;
  /** Of the last batch that was put off for its folders, until one is delivered. */
  private away: BatchAwayError | undefined;

  constructor(
    private readonly config: AnalyzerConfig,
    redis: RedisConfig,
    database: Database,
    @Inject(SINK) private readonly sink: Sink,
    private readonly manifest: ManifestService,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    super();
    const [batches, deliveries] = [new OpenBatches(database), new DeliveryRepository(database)];
    this.open = new Coalescer({ work: (ids) => batches.find(ids), blames: (error) => !isTransient(error) });
    this.recorded = new Coalescer({
      work: (group) => deliveries.recordAll(group.map(({ delivery }) => delivery)),
      weigh: ({ batch }) => batch.itemCount,
      limit: ITEMS_PER_TRANSACTION,
      gatherMs: GATHER_MS,
      blames: (error) => !isTransient(error),
    });
    this.gate = new DestinationGate({ target: sink.target, logger, haste: redis.MILLRACE_TEST_HASTE });
    metrics.gauge({
      name: 'millrace_destination_waiting_seconds',
      help: 'Seconds for which no batch could be delivered because the destination is away; 0 while it is there.',
      collect: (gauge) => gauge.set(this.gate.waitingSeconds()),
    });
    this.batches = metrics.counter({
      name: 'millrace_batches_delivered_total',
      help: 'Batches whose effect was recorded.',
    });
    this.files = metrics.counter({
      name: 'millrace_files_delivered_total',
      help: 'Parts of files in delivered batches: sent, or found stale and not sent (by reason).',
      labels: ['outcome', 'reason'],
    });
  }

  protected override workerOptions(): QueueWorkerOptions {
    return {
      concurrency: batchesAtOnce(this.config),
      ambientTrace: false,
      onStopping: () => this.gate.stop(),
    };
  }

  override health(): Health {
    const destination = this.gate.health();
    if (destination.status === 'down') return destination;
    return this.away ? down(this.away.message) : super.health();
  }

  async process(event: BatchEvent, context: JobContext): Promise<JobOutcome> {
    const trace = context.trace && traceId(context.trace) ? context.trace : newTrace();
    const span = {
      ...{ name: 'deliver', parent: trace, startedAt: Date.now() },
      attributes: { 'millrace.batch_id': event.id, 'millrace.target': this.sink.target },
    };
    try {
      const outcome = await this.deliver(event.id, trace, context);
      recordSpan({ ...span, ...(outcome.outcome === 'retry' && { error: outcome.cause }) });
      return outcome.outcome === 'retry' ? this.putOff(event, outcome) : outcome;
    } catch (error) {
      recordSpan({ ...span, error });
      if (error instanceof BatchRefusedError || error instanceof UnknownBatchError) return giveUp(error);
      if (isTransient(error)) return this.putOff(event, retryAfter(DATABASE_RETRY_MS, error));
      if (!(error instanceof BatchAwayError)) throw error;
      this.away = error;
      return this.putOff(event, retryAfter(AWAY_RETRY_MS, error));
    }
  }

  /** One batch: load, deliver, record. What several batches need of the database at a time is asked for together. */
  private async deliver(
    id: string,
    trace: string,
    { signal, logger, lastAttempt }: JobContext,
  ): Promise<JobOutcome> {
    const batch = await this.open.add(id);
    if (batch === undefined) throw new UnknownBatchError(id);
    if (batch === 'delivered') {
      logger.info({ batch_id: id }, 'batch was delivered before');
      return done;
    }
    const sent = await this.gate.deliver(id, signal, () =>
      this.sink.deliver(batch, { signal, lastAttempt, trace }),
    );
    if (sent.outcome === 'retry') return sent;
    const { delivery } = sent;
    this.away = undefined;
    await faultPoint('analyzer.after-deliver');
    const first = await this.recorded.add({ batch, delivery: { id, ...delivery, trace } });
    await faultPoint('analyzer.after-commit');
    if (first) this.delivered(batch, delivery, logger);
    return done;
  }

  /** Every batch that waits would say the same: one line in a while. */
  private putOff({ id }: BatchEvent, outcome: RetryAfter): RetryAfter {
    const { cause, delayMs } = outcome;
    const now = performance.now();
    if (now - this.toldPutOff >= TELL_EVERY_MS) {
      this.toldPutOff = now;
      this.logger.warn({ err: cause, batch_id: id, retry_ms: delayMs }, 'a batch cannot be delivered now');
    }
    return outcome;
  }

  private delivered(
    { id, totalTokens }: OpenBatch,
    { files, stale, target }: Delivery,
    logger: Logger,
  ): void {
    this.manifest.delivered();
    tellDone({ delivered: files, deliveredBatches: 1 });
    this.batches.inc();
    this.files.inc({ outcome: 'delivered', reason: '' }, files);
    for (const { reason } of stale) this.files.inc({ outcome: 'stale', reason });
    if (stale.length > 0) {
      const paths = stale.slice(0, 20).map(({ path, reason }) => `${path} (${reason})`);
      logger.warn(
        { batch_id: id, stale: stale.length, paths },
        'files changed since they were counted; not sent, looked at again',
      );
    }
    logger.info({ batch_id: id, files, tokens: totalTokens, target }, 'batch delivered');
  }
}
