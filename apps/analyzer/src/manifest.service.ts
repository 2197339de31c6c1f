import { Inject, Injectable } from '@nestjs/common';
import { open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Database, Pipeline } from '#database';
import { shownPath } from '#envelope';
import { Loop, LOGGER, onSaid, type Logger, type Service } from '#service';
import { AnalyzerConfig } from './analyzer.config.js';
import { ManifestRepository, type ManifestBatch } from './manifest.repository.js';
import { batchFileName, temporaryName } from './write.sink.js';

const EVERY_MS = 5_000;
/** Writing the manifest reads every batch: it may take so much of the time, so the longer it takes the rarer it is. */
const SHARE = 0.05;

/**
 * Keeps `manifest.json` beside the written batches: which file went into which batch. It is written from the database,
 * whole or not at all, so any analyzer may write it and the last one is right. Written once more on stop. A batch of which
 * nothing is valid any more, because its file changed before all parts were sent, is listed without its file, which is removed.
 */
@Injectable()
export class ManifestService implements Service {
  readonly name = 'manifest';
  private readonly loop: Loop;
  private readonly repository: ManifestRepository;
  private deliveries = 0;
  private written = 0;
  private tookMs = 0;

  constructor(
    private readonly config: AnalyzerConfig,
    database: Database,
    private readonly pipeline: Pipeline,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.repository = new ManifestRepository(database);
    this.loop = new Loop({
      name: this.name,
      logger,
      idleMs: () => Math.max(EVERY_MS, this.tookMs / SHARE),
      tick: () => this.writeIfStale(),
    });
    onSaid('drained', () => this.loop.wake());
  }

  async start(): Promise<void> {
    if (this.config.SINK === 'write') await this.loop.start();
  }

  async stop(): Promise<void> {
    await this.loop.stop();
    await this.writeIfStale();
  }

  /** A batch was delivered: what is written is out of date. */
  delivered(): void {
    this.deliveries++;
  }

  private async writeIfStale(): Promise<void> {
    if (this.config.SINK !== 'write' || this.written === this.deliveries) return;
    const upTo = this.deliveries;
    const startedAt = performance.now();
    await this.write();
    this.tookMs = performance.now() - startedAt;
    this.written = upTo;
  }

  private async write(): Promise<void> {
    const folder = resolve(this.config.OUTPUT_DIRECTORY);
    const aside = join(folder, temporaryName(this.pipeline.row.id));
    try {
      const handle = await open(aside, 'wx', this.config.OUTPUT_SHARED ? 0o644 : 0o600);
      try {
        await this.writeTo(handle);
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await rename(aside, join(folder, 'manifest.json'));
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
  }

  private async writeTo(handle: FileHandle): Promise<void> {
    await handle.appendFile(`{"format":${JSON.stringify(this.config.OUTPUT_FORMAT)},"batches":[`);
    let separator = '\n';
    const written = new Set(await readdir(this.config.OUTPUT_DIRECTORY));
    for await (const batch of this.repository.batches()) {
      const name = batchFileName(batch.id, this.config.OUTPUT_FORMAT);
      const file = isSuperseded(batch) ? await this.remove(name) : name;
      // Of a batch whose files had all changed, or that went elsewhere, nothing is in this folder.
      if (file !== null && !written.has(file)) continue;
      await handle.appendFile(`${separator}${JSON.stringify(this.entry(batch, file))}`);
      separator = ',\n';
    }
    await handle.appendFile('\n]}\n');
  }

  private async remove(name: string): Promise<null> {
    await rm(join(this.config.OUTPUT_DIRECTORY, name), { force: true });
    return null;
  }

  private entry({ id, totalTokens, itemCount, items }: ManifestBatch, file: string | null): object {
    const { PATH_BASE } = this.config;
    const files = items.map(({ path, ...item }) => ({ path: shownPath(path, PATH_BASE), ...item }));
    return { id, file, tokens: totalTokens, items: itemCount, files };
  }
}

function isSuperseded({ items }: ManifestBatch): boolean {
  return (
    items.some(({ outcome }) => outcome === 'superseded') &&
    !items.some(({ outcome }) => outcome === 'delivered')
  );
}
