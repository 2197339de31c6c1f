import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { runApp } from '#service';
import { apps } from '../../configurations.js';
import { config } from './batcher.config.js';
import { BATCHER_PARTS, BatcherModule } from './batcher.module.js';
import { TreeCheck, TreeCheckModule } from './tree-check.service.js';

await runApp({
  name: 'batcher',
  description: 'reads files, counts their tokens and commits them in batches',
  config,
  apps,
  imports: [DatabaseModule.fromConfig(), QueueManagerModule.fromConfig(), BatcherModule, TreeCheckModule],
  services: [Database, Pipeline, TreeCheck, QueueManager, ...BATCHER_PARTS],
});
