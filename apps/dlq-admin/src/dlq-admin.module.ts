import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { Database, DatabaseModule } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { AccessGuard } from './access/access.guard.js';
import { Access } from './access/access.service.js';
import { KeysController } from './access/keys.controller.js';
import { KeysRepository } from './access/keys.repository.js';
import { RateLimits } from './access/rate-limits.service.js';
import { SessionController } from './access/session.controller.js';
import { Alerts } from './alerts/alerts.service.js';
import { SamplesRepository } from './alerts/samples.repository.js';
import { StatsController } from './alerts/stats.controller.js';
import { AlertWebhook } from './alerts/webhook.service.js';
import { AuditController } from './audit/audit.controller.js';
import { Mutations } from './audit/mutations.service.js';
import { BulkActionsController } from './bulk/bulk-actions.controller.js';
import { BulkActionsRepository } from './bulk/bulk-actions.repository.js';
import { BulkActions } from './bulk/bulk-actions.service.js';
import { BulkRunner } from './bulk/bulk-runner.service.js';
import { Outcomes } from './bulk/outcomes.service.js';
import { EventsController } from './events/events.controller.js';
import { GroupsController } from './groups/groups.controller.js';
import { GroupsRepository } from './groups/groups.repository.js';
import { ApiDocument, DocsController } from './http/docs.controller.js';
import { ProblemFilter } from './http/problem.filter.js';
import { Intake } from './ingest/intake.service.js';
import { LettersController } from './letters/letters.controller.js';
import { LettersRepository } from './letters/letters.repository.js';
import { Letters } from './letters/letters.service.js';
import { RedriveWatch } from './redrive/redrive-watch.service.js';
import { RedrivesRepository } from './redrive/redrives.repository.js';

/** What the app starts, in this order. */
export const SERVICES = [
  Database,
  Access,
  RateLimits,
  QueueManager,
  Intake,
  BulkRunner,
  RedriveWatch,
  Alerts,
  AlertWebhook,
];

@Module({
  imports: [DatabaseModule.fromConfig(), QueueManagerModule.fromConfig()],
  controllers: [
    LettersController,
    GroupsController,
    BulkActionsController,
    EventsController,
    AuditController,
    StatsController,
    KeysController,
    SessionController,
    DocsController,
  ],
  providers: [
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_FILTER, useClass: ProblemFilter },
    Access,
    Alerts,
    AlertWebhook,
    ApiDocument,
    BulkActions,
    BulkActionsRepository,
    BulkRunner,
    GroupsRepository,
    Intake,
    KeysRepository,
    Letters,
    LettersRepository,
    Mutations,
    Outcomes,
    RateLimits,
    RedrivesRepository,
    RedriveWatch,
    SamplesRepository,
  ],
})
export class DlqAdminModule {}
