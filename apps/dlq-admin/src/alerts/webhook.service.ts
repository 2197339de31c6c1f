import { Inject, Injectable } from '@nestjs/common';
import { ANY_PAYLOAD, PermanentError, QueueManager, type JobContext, type QueueWorker } from '#queue-manager';
import { METRICS, type Health, type Metrics, type Service } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { ForbiddenAddressError, postWebhook } from './webhook.js';

export const ALERTS_QUEUE = 'dlq-alerts-queue';

/** Delivers alerts to the webhook. They wait in the outbox and the queue, are tried again with backoff, and hold up nothing. */
@Injectable()
export class AlertWebhook implements Service {
  readonly name = 'alert webhook';
  private worker: QueueWorker<unknown> | undefined;
  private readonly sent;

  constructor(
    private readonly queues: QueueManager,
    private readonly config: DlqAdminConfig,
    @Inject(METRICS) metrics: Metrics,
  ) {
    this.sent = metrics.counter({
      name: 'millrace_dlq_alert_webhooks_total',
      help: 'Alerts posted to the webhook.',
      labels: ['outcome'],
    });
  }

  async start(): Promise<void> {
    if (!this.config.ALERT_WEBHOOK_URL) return;
    this.worker ??= this.queues.createWorker(ALERTS_QUEUE, ANY_PAYLOAD, (payload, job) =>
      this.deliver(payload, job),
    );
    await this.worker.start();
  }

  async stop(): Promise<void> {
    await this.worker?.stop();
  }

  health(): Health {
    return this.worker?.health() ?? { status: 'up' };
  }

  private async deliver(payload: unknown, { jobId }: JobContext): Promise<void> {
    const {
      ALERT_WEBHOOK_URL: url,
      ALERT_WEBHOOK_SECRET: secret,
      ALERT_WEBHOOK_ALLOW_PRIVATE: allowPrivate,
    } = this.config;
    try {
      await postWebhook(payload as object, jobId, { url: url ?? '', secret, allowPrivate });
      this.sent.inc({ outcome: 'accepted' });
    } catch (error) {
      this.sent.inc({ outcome: 'failed' });
      if (error instanceof ForbiddenAddressError) throw new PermanentError(error.message, { cause: error });
      throw error;
    }
  }
}
