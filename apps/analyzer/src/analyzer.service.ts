import { Processor } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import { BATCH_EVENT, QUEUE, type BatchEvent } from '#contracts';
import { Database, isTransient } from '#database';
import { JobProcessor, RetryLater, type JobContext, type QueueWorkerOptions } from '#queue-manager';
import { down, faultPoint, LOGGER, METRICS, type Health, type Logger, type Metrics } from '#service';
import { AnalyzerConfig } from './analyzer.config.js';
import { BatchAwayError, UnknownBatchError } from './analyzer.errors.js';
import { BatchReader, type LoadedBatch } from './batch-reader.js';
import { DestinationGate } from './destination-gate.js';
import { DeliveryRepository } from './delivery.repository.js';
import { ManifestService } from './manifest.service.js';
import { SINK, type Sink } from './sink.js';

// What the database cannot do now it can do later; the batch is not at fault.
const DATABASE_RETRY_MS = 2_000;
const TELL_EVERY_MS = 10_000;

/**
 * Consumes batches. The sink's effect comes first and is idempotent by batch id; then one transaction records it, with
 * the inbox entry that keeps a second delivery from being recorded. Delivery at least once, effect once.
 */
@Processor(QUEUE.fileAnalysis)
export class AnalyzerService extends JobProcessor<BatchEvent> {
  readonly name = 'analyzer';
  protected readonly contract = BATCH_EVENT;
  private readonly deliveries: DeliveryRepository;
  private readonly gate: DestinationGate;
  private readonly files;
  private readonly batches;
  private toldPutOff = -Infinity;
  /** Of the last batch that was put off for its folders, until one is delivered. */
  private away: BatchAwayError | undefined;

  constructor(
    private readonly config: AnalyzerConfig,
    database: Database,
    private readonly reader: BatchReader,
    @Inject(SINK) private readonly sink: Sink,
    private readonly manifest: ManifestService,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(METRICS) metrics: Metrics,
  ) {
    super();
    this.deliveries = new DeliveryRepository(database);
    this.gate = new DestinationGate({ target: sink.target, logger });
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
      help: 'Parts of files in delivered batches: sent, or found stale and not sent.',
      labels: ['outcome'],
    });
  }

  protected override workerOptions(): QueueWorkerOptions {
    return { concurrency: this.config.ANALYZER_CONCURRENCY, onStopping: () => this.gate.stop() };
  }

  override health(): Health {
    const destination = this.gate.health();
    if (destination.status === 'down') return destination;
    return this.away ? down(this.away.message) : super.health();
  }

  /** One batch: still open? read, deliver, record. */
  async process(event: BatchEvent, { signal, logger, lastAttempt }: JobContext): Promise<void> {
    try {
      const state = await this.deliveries.stateOf(event.id);
      if (state === 'unknown') throw new UnknownBatchError(event.id);
      if (state === 'delivered') return logger.info({ batch_id: event.id }, 'batch was delivered before');
      const batch = await this.reader.read(event, { signal, lastAttempt });
      const { result, target } = await this.gate.deliver(event.id, signal, () =>
        this.sink.deliver(batch, signal),
      );
      this.away = undefined;
      await faultPoint('analyzer.after-deliver');
      const first = await this.deliveries.recordOnce(batch, result);
      await faultPoint('analyzer.after-commit');
      if (first) this.delivered(batch, target);
    } catch (error) {
      const failure = isTransient(error) ? new RetryLater(DATABASE_RETRY_MS, error) : error;
      if (failure instanceof RetryLater) this.tellPutOff(event, failure);
      if (failure instanceof RetryLater && failure.cause instanceof BatchAwayError) this.away = failure.cause;
      throw failure;
    }
  }

  /** Every batch that waits would say the same. */
  private tellPutOff({ id }: BatchEvent, { cause, delayMs }: RetryLater): void {
    const now = performance.now();
    if (now - this.toldPutOff < TELL_EVERY_MS) return;
    this.toldPutOff = now;
    this.logger.warn({ err: cause, batch_id: id, retry_ms: delayMs }, 'a batch cannot be delivered now');
  }

  private delivered({ id, files, stale, totalTokens }: LoadedBatch, target: string): void {
    this.manifest.delivered();
    this.batches.inc();
    this.files.inc({ outcome: 'delivered' }, files.length);
    if (stale.length > 0) {
      this.files.inc({ outcome: 'stale' }, stale.length);
      const paths = stale.slice(0, 20).map(({ file, reason }) => `${file.path} (${reason})`);
      this.logger.warn(
        { batch_id: id, stale: stale.length, paths },
        'files changed since they were counted; not sent, looked at again',
      );
    }
    this.logger.info({ batch_id: id, files: files.length, tokens: totalTokens, target }, 'batch delivered');
  }
}
