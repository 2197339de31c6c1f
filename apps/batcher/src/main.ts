import { Database } from '#database';
import { QueueManager } from '#queue-manager';
import { runApp } from '#service';
import { config } from './batcher.config.js';
import { BatcherModule } from './batcher.module.js';
import { BatcherService } from './batcher.service.js';
import { ReconcilerService } from './recovery/reconciler.service.js';

await runApp({
  name: 'batcher',
  description: 'reads files, counts their tokens and commits them in batches',
  config,
  module: BatcherModule,
  services: [Database, QueueManager, BatcherService, ReconcilerService],
});
