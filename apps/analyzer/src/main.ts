import { Database, Pipeline } from '#database';
import { QueueManager } from '#queue-manager';
import { runApp } from '#service';
import { ThreadPool } from '#worker-pool';
import { apps } from '../../configurations.js';
import { config } from './analyzer.config.js';
import { AnalyzerModule } from './analyzer.module.js';
import { AnalyzerService } from './analyzer.service.js';
import { ManifestService } from './manifest.service.js';

await runApp({
  name: 'analyzer',
  description: 'delivers batches to your analysis and records each delivery once',
  config,
  apps,
  module: AnalyzerModule,
  // The manifest is told of deliveries, so it stops after the analyzer.
  services: [Database, Pipeline, QueueManager, ThreadPool, ManifestService, AnalyzerService],
});
