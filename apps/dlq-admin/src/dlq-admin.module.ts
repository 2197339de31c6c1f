import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKeyEntity, AuditLog, Database, DatabaseModule, Pipeline, SessionEntity } from '#database';
import { DeadEvents } from '#outbox';
import { Explanations, PipelineOverview } from '#overview';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { CLOCK, type Clock } from '#service';
import { AccessGuard } from './access/access.guard.js';
import { Access } from './access/access.service.js';
import { IdentityTokens } from './access/identity-tokens.js';
import { KeysController } from './access/keys.controller.js';
import { KeysRepository } from './access/keys.repository.js';
import { RateLimits } from './access/rate-limits.service.js';
import { SessionController } from './access/session.controller.js';
import { Alerts } from './alerts/alerts.service.js';
import { SamplesRepository } from './alerts/samples.repository.js';
import { StatsController } from './alerts/stats.controller.js';
import { ALERTS_QUEUE, AlertWebhook } from './alerts/webhook.service.js';
import { AuditController } from './audit/audit.controller.js';
import { Mutations } from './audit/mutations.service.js';
import { BulkActionsController } from './bulk/bulk-actions.controller.js';
import { BulkActionsRepository } from './bulk/bulk-actions.repository.js';
import { BulkActionsService } from './bulk/bulk-actions.service.js';
import { BulkRunner } from './bulk/bulk-runner.service.js';
import { DlqAdminConfig } from './dlq-admin.config.js';
import { GroupsController } from './groups/groups.controller.js';
import { GroupsRepository } from './groups/groups.repository.js';
import { GroupsService } from './groups/groups.service.js';
import { ApiDocument, DocsController } from './http/docs.controller.js';
import { ProblemFilter } from './http/problems.js';
import { IngestModule } from './ingest/ingest.module.js';
import { Intake } from './ingest/intake.service.js';
import { LetterChanges } from './letters/letter-changes.repository.js';
import { LettersController } from './letters/letters.controller.js';
import { LettersRepository } from './letters/letters.repository.js';
import { LettersService } from './letters/letters.service.js';
import { RequeuedLetters } from './letters/requeued-letters.service.js';
import { EventsController } from './pipeline/events.controller.js';
import { ExplanationsController } from './pipeline/explanations.controller.js';
import { PipelineStreams } from './pipeline/pipeline-streams.service.js';
import { PipelineController } from './pipeline/pipeline.controller.js';
import { queueNames, QueuesController } from './pipeline/queues.controller.js';

/** What the app starts, in this order. */
export const SERVICES = [
  ...[Database, Pipeline, Access, RateLimits, QueueManager],
  ...[Intake, BulkRunner, RequeuedLetters, Alerts, AlertWebhook, PipelineStreams],
];

const overview = {
  provide: PipelineOverview,
  inject: [Database, QueueManager, DlqAdminConfig, CLOCK],
  useFactory: (database: Database, queues: QueueManager, config: DlqAdminConfig, clock: Clock) =>
    new PipelineOverview({ database, queues, clock, queueNames: queueNames(config, queues) }),
};

const audit = {
  provide: AuditLog,
  inject: [Database, DlqAdminConfig],
  useFactory: (database: Database, { AUDIT_KEY }: DlqAdminConfig) => new AuditLog(database, AUDIT_KEY),
};

const deadEvents = {
  provide: DeadEvents,
  inject: [Database],
  useFactory: (database: Database) => new DeadEvents(database),
};

const explanations = {
  provide: Explanations,
  inject: [Database, DlqAdminConfig],
  useFactory: (database: Database, { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE }: DlqAdminConfig) =>
    new Explanations(database, { files: PATH_DISCOVERY_QUEUE, batches: ANALYSIS_QUEUE }),
};

/** The guard stands before every route; every error becomes a problem document; every change passes `Mutations`. */
@Module({
  imports: [
    DatabaseModule.fromConfig(),
    QueueManagerModule.fromConfig(),
    BullModule.registerQueue({ name: ALERTS_QUEUE }),
    IngestModule,
    TypeOrmModule.forFeature([ApiKeyEntity, SessionEntity]),
  ],
  controllers: [
    ...[AuditController, BulkActionsController, DocsController, EventsController, ExplanationsController],
    ...[GroupsController, KeysController, LettersController, PipelineController, QueuesController],
    ...[SessionController, StatsController],
  ],
  providers: [
    ...[AccessGuard, { provide: APP_GUARD, useExisting: AccessGuard }],
    ...[ApiDocument, { provide: APP_FILTER, useClass: ProblemFilter }],
    ...[Access, IdentityTokens, KeysRepository, RateLimits],
    ...[Alerts, AlertWebhook, SamplesRepository],
    ...[BulkActionsRepository, BulkActionsService, BulkRunner],
    ...[GroupsRepository, GroupsService],
    ...[LetterChanges, LettersRepository, LettersService, RequeuedLetters],
    ...[audit, deadEvents, explanations, Mutations, overview, PipelineStreams],
  ],
})
export class DlqAdminModule {}
