import { Inject, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { FILE_STATES } from '#dlq-client';
import { PipelineOverview } from '#overview';
import { CLOCK, LOGGER, Loop, Metrics, type Clock, type Logger } from '#service';
import { ProblemError } from '../http/problems.js';

interface Stream {
  response: Response;
  scope: readonly string[] | null;
  /** Rejects once its caller may no longer listen. */
  check: () => Promise<unknown>;
  checkedAt: number;
  openedAt: number;
  /** What was last sent, and when. */
  sent: string;
  sentAt: number;
}

const EVERY_MS = 1_000;
const HEARTBEAT_MS = 15_000;
const MAX_STREAMS = 100;
const TOO_MANY = `${MAX_STREAMS} streams are open; ask for /api/v1/pipeline instead`;
/** A key may be revoked while its stream is open. */
const CHECK_MS = 3_000;
const MAX_AGE_MS = 600_000;
/** One who does not read is cut off before this process holds the backlog. */
const MAX_UNREAD = 1_000_000;

/**
 * Tells all who listen how the pipeline moves. Guarantee: at most so many streams, each of bounded age and backlog; one whose key
 * is revoked ends within seconds, all when the app stops.
 */
@Injectable()
export class PipelineStreams extends Loop {
  private readonly streams = new Set<Stream>();

  constructor(
    private readonly overview: PipelineOverview,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) logger: Logger,
    metrics: Metrics,
  ) {
    super({ name: 'pipeline streams', logger, idleMs: EVERY_MS });
    metrics.gauge({
      name: 'millrace_files',
      help: 'Files by state, removed ones left out.',
      labels: ['state'],
      collect: async (gauge) => {
        // While the database is away the last counts stand.
        const seen = await overview.view().catch(() => null);
        for (const state of FILE_STATES) if (seen) gauge.set({ state }, seen.files[state]);
      },
    });
  }

  override async stop(): Promise<void> {
    await super.stop();
    for (const stream of this.streams) this.close(stream);
  }

  async open(response: Response, scope: readonly string[] | null, check: Stream['check']): Promise<void> {
    if (this.streams.size >= MAX_STREAMS)
      throw new ProblemError(503, 'TOO_MANY_STREAMS', TOO_MANY, { headers: { 'Retry-After': '30' } });
    const now = this.clock.monotonic();
    const stream: Stream = { response, scope, check, checkedAt: now, openedAt: now, sent: '', sentAt: now };
    this.streams.add(stream);
    response.on('close', () => this.streams.delete(stream));
    // X-Accel-Buffering: a proxy in front passes each event on as it comes.
    response.set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }).flushHeaders();
    if (response.req.method === 'HEAD') return this.close(stream);
    await this.tell(stream).catch(() => this.close(stream));
  }

  override async tick(): Promise<void> {
    for (const stream of this.streams) await this.tell(stream);
  }

  private async tell(stream: Stream): Promise<void> {
    const now = this.clock.monotonic();
    if (now - stream.openedAt > MAX_AGE_MS || stream.response.writableLength > MAX_UNREAD)
      return this.close(stream);
    if (now - stream.checkedAt > CHECK_MS && !(await this.mayListen(stream, now))) return this.close(stream);
    const { at, ...view } = await this.overview.view(stream.scope);
    const text = JSON.stringify(view);
    if (text !== stream.sent)
      stream.response.write(`event: pipeline\ndata: ${JSON.stringify({ ...view, at })}\n\n`);
    else if (now - stream.sentAt > HEARTBEAT_MS) stream.response.write(': still here\n\n');
    else return;
    Object.assign(stream, { sent: text, sentAt: now });
  }

  private mayListen(stream: Stream, now: number): Promise<boolean> {
    stream.checkedAt = now;
    return stream.check().then(Boolean, () => false);
  }

  private close(stream: Stream): void {
    this.streams.delete(stream);
    stream.response.end();
  }
}
