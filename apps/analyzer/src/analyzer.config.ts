import { IsBoolean, IsIn, IsInt, IsString, Matches, Max, Min } from 'class-validator';
import { CrossRule, Key } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { FORMATS, type FormatName } from '#envelope';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';

const SINKS = ['write', 'http'] as const;

@CrossRule<AnalyzerConfig>(
  ['SINK', 'ANALYZER_URL'],
  'SINK=http needs ANALYZER_URL',
  ({ SINK, ANALYZER_URL }) => SINK !== 'http' || ANALYZER_URL !== undefined,
)
export class AnalyzerConfig {
  @Key({ meaning: 'Queue of batches to analyse.', default: QUEUE.fileAnalysis })
  @Matches(/^[^:]{1,200}$/)
  ANALYSIS_QUEUE!: string;

  @Key({
    meaning: 'What to do with a batch: `write` it to OUTPUT_DIRECTORY, or POST it to ANALYZER_URL (`http`).',
    default: 'write',
  })
  @IsIn(SINKS)
  SINK!: (typeof SINKS)[number];

  @Key({ meaning: 'Batches handled at the same time.', default: 4 })
  @IsInt()
  @Min(1)
  @Max(200)
  ANALYZER_CONCURRENCY!: number;

  @Key({ meaning: 'Folder that the `write` sink writes to.', default: 'millrace-out' })
  @IsString()
  OUTPUT_DIRECTORY!: string;

  @Key({ meaning: 'How the `write` sink writes a batch.', default: 'markdown' })
  @IsIn(FORMATS)
  OUTPUT_FORMAT!: FormatName;

  @Key({
    meaning: 'Folder that paths in batches are shown relative to. Whole paths unless given.',
    optional: true,
  })
  @IsString()
  PATH_BASE?: string;

  @Key({ meaning: 'Address that the `http` sink posts batches to.', optional: true, secret: 'url' })
  @Matches(/^https?:\/\/.+/, { message: '$property must be http://… or https://…' })
  ANALYZER_URL?: string;

  @Key({
    meaning: 'Value of the Authorization header that the `http` sink sends.',
    optional: true,
    secret: true,
  })
  @IsString()
  ANALYZER_AUTHORIZATION?: string;

  @Key({ meaning: 'Milliseconds that the `http` sink waits for an answer.', default: 60_000 })
  @IsInt()
  @Min(10)
  @Max(3_600_000)
  ANALYZER_TIMEOUT_MS!: number;

  @Key({
    meaning: 'Whether the answer of ANALYZER_URL is kept as the result of each file of the batch.',
    default: true,
  })
  @IsBoolean()
  ANALYZER_KEEP_RESULTS!: boolean;
}

export const config = {
  service: ServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  analyzer: AnalyzerConfig,
};
