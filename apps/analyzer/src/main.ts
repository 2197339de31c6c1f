import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { runApp } from '#service';
import { apps } from '../../configurations.js';
import { config } from './analyzer.config.js';
import { ANALYZER_PARTS, AnalyzerModule } from './analyzer.module.js';
import { DESTINATION } from './destination.js';

await runApp({
  name: 'analyzer',
  description: 'delivers batches to your analysis and records each delivery once',
  config,
  apps,
  imports: [DatabaseModule.fromConfig(DESTINATION), QueueManagerModule.fromConfig(), AnalyzerModule],
  services: [Database, Pipeline, QueueManager, ...ANALYZER_PARTS],
});
