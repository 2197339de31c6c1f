import { Param, ParseUUIDPipe, Query } from '@nestjs/common';
import { NumericId, Reads, Routes } from '../http/route.js';
import type { BatchView, FileView } from '#dlq-client';
import { Explanations } from '#overview';
import { CurrentCaller, sees, type Caller } from '../access/caller.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { Required, text } from '../http/field.js';
import { notFound } from '../http/problems.js';

class FileQuery {
  @Required({ description: 'The absolute path of the file, as the scan has seen it.' }, ...text(1, 4_000))
  path!: string;
}

/** One file, one batch: where it stands and how it came there. For operators: paths are what payloads hold. */
@Routes('pipeline', '')
export class ExplanationsController {
  constructor(
    private readonly explanations: Explanations,
    private readonly config: DlqAdminConfig,
  ) {}

  @Reads('files', 'operator', 'The file at a path: state, batches, letters, timeline.')
  async fileAt(@CurrentCaller() caller: Caller, @Query() { path }: FileQuery): Promise<FileView> {
    return this.seen(caller, 'file', await this.explanations.fileAt(path));
  }

  @Reads('files/:id', 'operator', 'A file: state, batches, letters, timeline.')
  async file(@CurrentCaller() caller: Caller, @NumericId() id: number): Promise<FileView> {
    return this.seen(caller, 'file', await this.explanations.file(id));
  }

  @Reads('batches/:id', 'operator', 'A batch: its files, its event, its letters, timeline.')
  async batch(@CurrentCaller() caller: Caller, @Param('id', ParseUUIDPipe) id: string): Promise<BatchView> {
    return this.seen(caller, 'batch', await this.explanations.batch(id));
  }

  /** A story runs through both queues: who may see only some queues must be allowed both. */
  private seen<T>(caller: Caller, what: string, found: T | undefined): T {
    const { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE } = this.config;
    if (!found || !sees(caller, PATH_DISCOVERY_QUEUE) || !sees(caller, ANALYSIS_QUEUE)) throw notFound(what);
    return found;
  }
}
