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

/**
 * The fleet of a laptop in one process: the modules of batcher, publisher and analyzer as they are, and dlq-admin's intake of
 * dead letters, on one database and one Redis connection. Who takes work in starts last and stops first.
 */
await runApp({
  name: 'worker',
  description: 'batcher, outbox-publisher, analyzer and the intake of dead letters in one process',
  config: { ...publisher, ...analyzer, ...batcher, admin: DlqAdminConfig },
  apps,
  imports: [
    DatabaseModule.fromConfig(DESTINATION),
    QueueManagerModule.fromConfig(),
    inRole('dlq-admin', IngestModule),
    inRole('outbox-publisher', OutboxPublisherModule),
    inRole('analyzer', AnalyzerModule),
    inRole('batcher', BatcherModule),
  ],
  services: [
    ...[Database, Pipeline, QueueManager, Intake],
    ...PUBLISHER_PARTS,
    ...ANALYZER_PARTS,
    ...BATCHER_PARTS,
  ],
});
