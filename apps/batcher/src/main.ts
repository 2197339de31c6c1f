import { setFlagsFromString } from 'node:v8';
import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { runApp } from '#service';
import { apps } from '../../configurations.js';
import { config } from './batcher.config.js';
import { BATCHER_PARTS, BatcherModule } from './batcher.module.js';
import { TreeCheck, TreeCheckModule } from './tree-check.service.js';

// Held jobs outlive the young generation, so a scavenge copies half of what it sees. Its helper threads took a sixth of
// all processor time on small files, and the cores from the readers; alone the collector needs about as long.
setFlagsFromString('--no-parallel-scavenge');

await runApp({
  name: 'batcher',
  description: 'reads files, counts their tokens and commits them in batches',
  config,
  apps,
  imports: [DatabaseModule.fromConfig(), QueueManagerModule.fromConfig(), BatcherModule, TreeCheckModule],
  services: [Database, Pipeline, TreeCheck, QueueManager, ...BATCHER_PARTS],
});
