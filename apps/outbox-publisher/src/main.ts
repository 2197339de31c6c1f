import { Database, Pipeline } from '#database';
import { QueueManager } from '#queue-manager';
import { runApp } from '#service';
import { apps } from '../../configurations.js';
import { Confirmation } from './confirmation.service.js';
import { config } from './outbox-publisher.config.js';
import { OutboxPublisherModule, WAKE_UP } from './outbox-publisher.module.js';
import { Publisher } from './publisher.service.js';
import { Purge } from './purge.service.js';

await runApp({
  name: 'outbox-publisher',
  description: 'publishes committed events to their queues, at least once and always under the same id',
  config,
  apps,
  module: OutboxPublisherModule,
  services: [Database, Pipeline, QueueManager, Purge, Confirmation, Publisher, WAKE_UP],
});
