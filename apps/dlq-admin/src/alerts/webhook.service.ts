import { Processor } from '@nestjs/bullmq';
import { ANY_PAYLOAD, done, giveUp, JobProcessor, type JobContext, type JobOutcome } from '#queue-manager';
import { UP, type Health, Metrics } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { ForbiddenAddressError, postWebhook } from './webhook.js';

export const ALERTS_QUEUE = 'dlq-alerts-queue';

/** Delivers alerts to the webhook. They wait in the outbox and the queue, are tried again with backoff, and hold up nothing. */
@Processor(ALERTS_QUEUE)
export class AlertWebhook extends JobProcessor<unknown> {
  readonly name = 'alert webhook';
  protected readonly contract = ANY_PAYLOAD;
  private readonly sent;

  constructor(
    private readonly config: DlqAdminConfig,
    metrics: Metrics,
  ) {
    super();
    this.sent = metrics.counter({
      name: 'millrace_dlq_alert_webhooks_total',
      help: 'Alerts posted to the webhook.',
      labels: ['outcome'],
    });
    this.sent.inc({ outcome: 'failed' }, 0);
  }

  override async start(): Promise<void> {
    if (this.config.ALERT_WEBHOOK_URL) await super.start();
  }

  override health(): Health {
    return this.config.ALERT_WEBHOOK_URL ? super.health() : UP;
  }

  async process(payload: unknown, { jobId }: JobContext): Promise<JobOutcome> {
    const {
      ALERT_WEBHOOK_URL: url,
      ALERT_WEBHOOK_SECRET: secret,
      ALERT_WEBHOOK_ALLOW_PRIVATE: allowPrivate,
    } = this.config;
    try {
      await postWebhook(payload as object, jobId, { url: url ?? '', secret, allowPrivate });
      this.sent.inc({ outcome: 'accepted' });
      return done;
    } catch (error) {
      this.sent.inc({ outcome: 'failed' });
      if (error instanceof ForbiddenAddressError) return giveUp(error);
      throw error;
    }
  }
}
