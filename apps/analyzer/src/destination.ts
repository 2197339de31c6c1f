import { resolve } from 'node:path';
import { folderDestination, httpDestination, type Destination } from '#contracts';
import { AnalyzerConfig } from './analyzer.config.js';

/** Where this process delivers to, as its pipeline knows it. */
export const DESTINATION = { inject: [AnalyzerConfig], useFactory: destinationOf };

function destinationOf(config: AnalyzerConfig): Destination {
  // The configuration rule makes sure that the address is there.
  return config.SINK === 'http'
    ? httpDestination(config.ANALYZER_URL ?? '')
    : folderDestination(resolve(config.OUTPUT_DIRECTORY), config.OUTPUT_FORMAT);
}
