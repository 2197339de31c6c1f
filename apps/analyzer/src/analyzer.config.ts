import { CrossRule, Flag, Int, OPTIONAL, QueueName, Secret, Text, Url } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { EnvelopeConfig } from '#envelope';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';

@CrossRule<AnalyzerConfig>(
  ['SINK', 'ANALYZER_URL'],
  'SINK=http needs ANALYZER_URL',
  ({ SINK, ANALYZER_URL }) => SINK !== 'http' || ANALYZER_URL !== undefined,
)
export class AnalyzerConfig extends EnvelopeConfig {
  @QueueName('Queue of batches to analyse.', QUEUE.fileAnalysis)
  ANALYSIS_QUEUE!: string;

  @Int('Batches handled at the same time. 0 takes 4 with the `http` sink and 32 with `write`.', 0, [0, 200])
  ANALYZER_CONCURRENCY!: number;

  @Text('Folder that the `write` sink writes to.', 'millrace-out')
  OUTPUT_DIRECTORY!: string;

  @Flag(
    'Whether other users may read what the `write` sink writes; a folder that is there keeps its mode.',
    false,
  )
  OUTPUT_SHARED!: boolean;

  @Url('Address that the `http` sink posts batches to.', OPTIONAL)
  ANALYZER_URL?: string;

  @Secret('Value of the Authorization header that the `http` sink sends.', OPTIONAL)
  ANALYZER_AUTHORIZATION?: string;

  @Int('Milliseconds that the `http` sink waits for an answer.', 60_000, [10, 3_600_000])
  ANALYZER_TIMEOUT_MS!: number;

  @Flag('Whether the answer of ANALYZER_URL is kept with the batch, up to 1 MB.', true)
  ANALYZER_KEEP_RESULTS!: boolean;
}

/** An analyser may be slow or paid for; a folder takes what it is given, and most of a batch's time there is waiting. */
export function batchesAtOnce({ SINK, ANALYZER_CONCURRENCY }: AnalyzerConfig): number {
  return ANALYZER_CONCURRENCY || (SINK === 'http' ? 4 : 32);
}

export const config = {
  service: ServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  analyzer: AnalyzerConfig,
};
