import { Module } from '@nestjs/common';
import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { AccessModule } from './access/access.module.js';
import { Access } from './access/access.service.js';
import { RateLimits } from './access/rate-limits.service.js';
import { AlertsModule } from './alerts/alerts.module.js';
import { Alerts } from './alerts/alerts.service.js';
import { AlertWebhook } from './alerts/webhook.service.js';
import { AuditModule } from './audit/audit.module.js';
import { BulkModule } from './bulk/bulk.module.js';
import { BulkRunner } from './bulk/bulk-runner.service.js';
import { GroupsModule } from './groups/groups.module.js';
import { HttpModule } from './http/http.module.js';
import { IngestModule } from './ingest/ingest.module.js';
import { Intake } from './ingest/intake.service.js';
import { LettersModule } from './letters/letters.module.js';
import { RequeuedLetters } from './letters/requeued-letters.service.js';
import { PipelineModule } from './pipeline/pipeline.module.js';
import { PipelineStreams } from './pipeline/pipeline-streams.service.js';

/** What the app starts, in this order. */
export const SERVICES = [
  Database,
  Pipeline,
  Access,
  RateLimits,
  QueueManager,
  Intake,
  BulkRunner,
  RequeuedLetters,
  Alerts,
  AlertWebhook,
  PipelineStreams,
];

@Module({
  imports: [
    DatabaseModule.fromConfig(),
    QueueManagerModule.fromConfig(),
    AccessModule,
    AlertsModule,
    AuditModule,
    BulkModule,
    GroupsModule,
    HttpModule,
    IngestModule,
    LettersModule,
    PipelineModule,
  ],
})
export class DlqAdminModule {}
