import { Choice, OPTIONAL, Text } from '#config';
import { FORMATS, type EnvelopeName, type FormatName } from './format.js';

const SINKS = ['write', 'http'] as const;

/** What the batcher, which counts batches as they will be written, and the analyzer, which writes them, must agree on. */
export class EnvelopeConfig {
  @Choice(
    'What to do with a batch: `write` it to OUTPUT_DIRECTORY, or POST it to ANALYZER_URL (`http`).',
    'write',
    SINKS,
  )
  SINK!: (typeof SINKS)[number];

  @Choice('How the `write` sink writes a batch.', 'markdown', FORMATS)
  OUTPUT_FORMAT!: FormatName;

  @Text('Folder that paths in batches are shown relative to. Whole paths unless given.', OPTIONAL)
  PATH_BASE?: string;
}

/** The form that a batch takes. */
export function writtenAs({
  SINK,
  OUTPUT_FORMAT,
}: Pick<EnvelopeConfig, 'SINK' | 'OUTPUT_FORMAT'>): EnvelopeName {
  return SINK === 'http' ? 'json' : OUTPUT_FORMAT;
}
