import { setFlagsFromString } from 'node:v8';
import { Database, Pipeline } from '#database';
import { QueueManager } from '#queue-manager';
import { runApp } from '#service';
import { ThreadPool } from '#worker-pool';
import { apps } from '../../configurations.js';
import { config } from './batcher.config.js';
import { BatcherModule } from './batcher.module.js';
import { BatcherService } from './batcher.service.js';
import { ReconcilerService } from './recovery/reconciler.service.js';

// Held jobs outlive the young generation, so a scavenge copies half of what it sees. Its helper threads took a sixth of
// all processor time on small files, and the cores from the readers; alone the collector needs about as long.
setFlagsFromString('--no-parallel-scavenge');

await runApp({
  name: 'batcher',
  description: 'reads files, counts their tokens and commits them in batches',
  config,
  apps,
  module: BatcherModule,
  services: [Database, Pipeline, QueueManager, ThreadPool, BatcherService, ReconcilerService],
});
