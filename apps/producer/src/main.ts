import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { runApp } from '#service';
import { apps } from '../../configurations.js';
import { config } from './producer.config.js';
import { PRODUCER_PARTS, ProducerModule } from './producer.module.js';
import { ScanTask } from './scan.task.js';
import { ScanThreads } from './scan-threads.js';

await runApp({
  name: 'producer',
  description: 'scans a directory to completion: registers every file and enqueues what is new or changed',
  config,
  apps,
  imports: [DatabaseModule.fromConfig(), QueueManagerModule.fromConfig(), ProducerModule],
  services: [ScanThreads, Database, Pipeline, QueueManager, ...PRODUCER_PARTS],
  task: ScanTask,
  exitCodes: {
    65: 'the root overlaps another root of this database',
    66: 'the root is missing or cannot be read',
    77: 'most known files are gone; allow it with ALLOW_MASS_REMOVAL=true',
  },
});
