import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database';
import { QueueManagerModule } from '#queue-manager';
import { AnalyzerConfig } from './analyzer.config.js';
import { AnalyzerService } from './analyzer.service.js';
import { HttpSink } from './http.sink.js';
import { ManifestService } from './manifest.service.js';
import { SINK, type Sink } from './sink.js';
import { WriteSink } from './write.sink.js';

@Module({
  imports: [DatabaseModule.fromConfig(), QueueManagerModule.fromConfig()],
  providers: [
    AnalyzerService,
    ManifestService,
    { provide: SINK, inject: [AnalyzerConfig], useFactory: createSink },
  ],
})
export class AnalyzerModule {}

function createSink(config: AnalyzerConfig): Sink {
  if (config.SINK === 'write') return new WriteSink(config.OUTPUT_DIRECTORY, config.OUTPUT_FORMAT);
  return new HttpSink({
    // The configuration rule makes sure that the address is there.
    url: config.ANALYZER_URL ?? '',
    timeoutMs: config.ANALYZER_TIMEOUT_MS,
    keepResults: config.ANALYZER_KEEP_RESULTS,
    ...(config.ANALYZER_AUTHORIZATION && { authorization: config.ANALYZER_AUTHORIZATION }),
  });
}
