import { Module } from '@nestjs/common';
import { Database } from '#database';
import { FILE_STATES } from '#dlq-client';
import { Explanations, PipelineOverview } from '#overview';
import { QueueManager } from '#queue-manager';
import { CLOCK, Metrics, type Clock } from '#service';
import { AccessModule } from '../access/access.module.js';
import { AuditModule } from '../audit/audit.module.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { EventsController } from './events.controller.js';
import { ExplanationsController } from './explanations.controller.js';
import { PipelineController } from './pipeline.controller.js';
import { queueNames, QueuesController } from './queues.controller.js';
import { PipelineStreams } from './pipeline-streams.service.js';

const overview = {
  provide: PipelineOverview,
  inject: [Database, QueueManager, DlqAdminConfig, CLOCK, Metrics],
  useFactory: (
    database: Database,
    queues: QueueManager,
    config: DlqAdminConfig,
    clock: Clock,
    metrics: Metrics,
  ) => {
    const made = new PipelineOverview({ database, queues, clock, queueNames: queueNames(config, queues) });
    showFiles(metrics, made);
    return made;
  },
};

/** While the database is away the last counts stand. */
function showFiles(metrics: Metrics, overviewed: PipelineOverview): void {
  metrics.gauge({
    name: 'millrace_files',
    help: 'Files by state, removed ones left out.',
    labels: ['state'],
    collect: async (gauge) => {
      const files = await overviewed.view().then(
        (seen) => seen.files,
        () => undefined,
      );
      for (const state of FILE_STATES) if (files) gauge.set({ state }, files[state]);
    },
  });
}

const explanations = {
  provide: Explanations,
  inject: [Database, DlqAdminConfig],
  useFactory: (database: Database, { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE }: DlqAdminConfig) =>
    new Explanations(database, { files: PATH_DISCOVERY_QUEUE, batches: ANALYSIS_QUEUE }),
};

@Module({
  imports: [AccessModule, AuditModule],
  controllers: [PipelineController, EventsController, ExplanationsController, QueuesController],
  providers: [overview, explanations, PipelineStreams],
})
export class PipelineModule {}
