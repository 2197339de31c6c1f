import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { inRole, runApp } from '#service';
import { config as analyzer } from '../../analyzer/src/analyzer.config.js';
import { ANALYZER_PARTS, AnalyzerModule } from '../../analyzer/src/analyzer.module.js';
import { DESTINATION } from '../../analyzer/src/destination.js';
import { config as batcher } from '../../batcher/src/batcher.config.js';
import { BATCHER_PARTS, BatcherModule } from '../../batcher/src/batcher.module.js';
import { apps } from '../../configurations.js';
import { DlqAdminConfig } from '../../dlq-admin/src/dlq-admin.config.js';
import { IngestModule } from '../../dlq-admin/src/ingest/ingest.module.js';
import { Intake } from '../../dlq-admin/src/ingest/intake.service.js';
import { config as publisher } from '../../outbox-publisher/src/outbox-publisher.config.js';
import {
  OutboxPublisherModule,
  PUBLISHER_PARTS,
} from '../../outbox-publisher/src/outbox-publisher.module.js';
import { config as producer } from '../../producer/src/producer.config.js';
import { PRODUCER_PARTS, ProducerModule } from '../../producer/src/producer.module.js';
import { ScanThreads } from '../../producer/src/scan-threads.js';
import { ThreadsModule } from './threads.module.js';
import { WorkerModule, WorkerTask } from './worker.task.js';

/**
 * The fleet of a laptop in one process: the modules of producer, batcher, publisher and analyzer as they are, and dlq-admin's
 * intake of dead letters, on one database and one Redis connection. Who takes work in starts last and stops first.
 */
await runApp({
  name: 'worker',
  description: 'producer, batcher, outbox-publisher, analyzer and the intake of dead letters in one process',
  config: { ...publisher, ...analyzer, ...batcher, ...producer, admin: DlqAdminConfig },
  apps,
  imports: [
    DatabaseModule.fromConfig(DESTINATION),
    QueueManagerModule.fromConfig(),
    ThreadsModule,
    inRole('producer', ProducerModule),
    inRole('dlq-admin', IngestModule),
    inRole('outbox-publisher', OutboxPublisherModule),
    inRole('analyzer', AnalyzerModule),
    inRole('batcher', BatcherModule),
    WorkerModule,
  ],
  services: [ScanThreads, WorkerTask, Database, Pipeline, QueueManager, ...PRODUCER_PARTS],
  later: [Intake, ...PUBLISHER_PARTS, ...ANALYZER_PARTS, ...BATCHER_PARTS],
  task: WorkerTask,
});
