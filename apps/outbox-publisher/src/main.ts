import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { runApp } from '#service';
import { apps } from '../../configurations.js';
import { config } from './outbox-publisher.config.js';
import { OutboxPublisherModule, PUBLISHER_PARTS } from './outbox-publisher.module.js';

await runApp({
  name: 'outbox-publisher',
  description: 'publishes committed events to their queues, at least once and always under the same id',
  config,
  apps,
  imports: [DatabaseModule.fromConfig(), QueueManagerModule.fromConfig(), OutboxPublisherModule],
  services: [Database, Pipeline, QueueManager, ...PUBLISHER_PARTS],
});
