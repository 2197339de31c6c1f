import { Injectable } from '@nestjs/common';
import { Metrics, tellDone } from '#service';
import { BatcherConfig } from './batcher.config.js';
import type { BatchesUnit, Committed, CommitUnit } from './committing/commit-unit.js';

const OUTCOMES = { skip: 'skipped', fail: 'failed', wait: 'waiting' } as const;

/** What the batcher tells about its work. */
@Injectable()
export class BatcherMetrics {
  private readonly batches;
  private readonly fill;
  private readonly files;
  private readonly tokens;
  private readonly bytes;
  private readonly commitSeconds;

  constructor(
    metrics: Metrics,
    private readonly config: BatcherConfig,
  ) {
    this.batches = metrics.counter({ name: 'millrace_batches_committed_total', help: 'Batches committed.' });
    this.fill = metrics.histogram({
      name: 'millrace_batch_fill_ratio',
      help: 'Tokens of a committed batch as a share of its budget.',
      buckets: [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 1],
    });
    this.files = metrics.counter({
      name: 'millrace_files_settled_total',
      help: 'Files by what became of them: batched, touched (same content as delivered), skipped (by reason), failed, waiting (folder away), refused or obsolete (decided elsewhere).',
      labels: ['outcome', 'reason'],
    });
    this.tokens = metrics.counter({
      name: 'millrace_tokens_batched_total',
      help: 'Tokens of committed batches.',
    });
    this.bytes = metrics.counter({
      name: 'millrace_batched_bytes_total',
      help: 'Bytes of files in committed batches.',
    });
    this.commitSeconds = metrics.histogram({
      name: 'millrace_commit_seconds',
      help: 'Time of the transactions that commit batches.',
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
    });
  }

  committed({ batches, refused, touched }: Committed, units: readonly CommitUnit[], seconds: number): void {
    this.commitSeconds.observe(seconds);
    this.batches.inc(batches.length);
    for (const { tokens } of batches) {
      this.tokens.inc(tokens);
      this.fill.observe(tokens / this.config.MAX_BATCH_TOKENS);
    }
    tellDone({ touched, tokens: batches.reduce((sum, { tokens }) => sum + tokens, 0) });
    if (touched > 0) this.files.inc({ outcome: 'touched', reason: '' }, touched);
    if (refused > 0) this.files.inc({ outcome: 'refused', reason: '' }, refused);
    for (const unit of units) this.settled(unit);
  }

  /** Files whose rows are in another revision, settled, removed, or of another job. */
  obsolete(files: number): void {
    this.files.inc({ outcome: 'obsolete', reason: '' }, files);
  }

  private settled(unit: CommitUnit): void {
    if (unit.kind === 'batches') return this.batched(unit);
    const { kind, files, reason = '' } = unit;
    if (kind === 'leave') return;
    this.files.inc({ outcome: OUTCOMES[kind], reason }, files.length);
    if (kind !== 'wait') tellDone({ [OUTCOMES[kind]]: files.length });
  }

  private batched({ drafts }: BatchesUnit): void {
    const files = new Set(drafts.flatMap(({ parts }) => parts.map(({ file }) => file)));
    const bytes = [...files].reduce((sum, { facts }) => sum + facts.size, 0);
    this.files.inc({ outcome: 'batched', reason: '' }, files.size);
    this.bytes.inc(bytes);
    tellDone({ batched: files.size, batchedBytes: bytes });
  }
}
