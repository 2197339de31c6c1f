import { Database } from '#database';
import { QueueManager } from '#queue-manager';
import { runApp } from '#service';
import { config } from './analyzer.config.js';
import { AnalyzerModule } from './analyzer.module.js';
import { AnalyzerService } from './analyzer.service.js';

await runApp({
  name: 'analyzer',
  description: 'delivers batches to your analysis and records each delivery once',
  config,
  module: AnalyzerModule,
  services: [Database, QueueManager, AnalyzerService],
});
