import { Database } from '#database';
import { QueueManager } from '#queue-manager';
import { runApp } from '#service';
import { Access } from './access/access.service.js';
import { RateLimits } from './access/rate-limits.service.js';
import { Alerts } from './alerts/alerts.service.js';
import { AlertWebhook } from './alerts/webhook.service.js';
import { BulkRunner } from './bulk/bulk-runner.service.js';
import { config } from './dlq-admin.config.js';
import { DlqAdminModule } from './dlq-admin.module.js';
import { configureHttp } from './http/configure.js';
import { Intake } from './ingest/intake.service.js';
import { RedriveWatch } from './redrive/redrive-watch.service.js';

await runApp({
  name: 'dlq-admin',
  description: 'Takes in dead letters and lets operators inspect, search, edit, discard and requeue them.',
  config,
  module: DlqAdminModule,
  services: [
    Database,
    Access,
    RateLimits,
    QueueManager,
    Intake,
    BulkRunner,
    RedriveWatch,
    Alerts,
    AlertWebhook,
  ],
  configure: (app, { admin }) => configureHttp(app, admin),
});
