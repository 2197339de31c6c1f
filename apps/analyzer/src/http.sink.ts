import { renderBatch } from '#envelope';
import { RetryLater } from '#queue-manager';
import { currentTrace } from '#service';
import { AnalyzerUnavailableError, BatchRefusedError } from './analyzer.errors.js';
import type { LoadedBatch } from './batch-reader.js';
import { retryAfterMs } from './retry-after.js';
import type { Sink, SinkResult } from './sink.js';

export interface HttpSinkOptions {
  url: string;
  authorization?: string;
  timeoutMs: number;
  keepResults: boolean;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
const BUSY = [408, 425, 429, 502, 503, 504];

/**
 * Posts each batch as JSON with the batch's id as Idempotency-Key, so that an analyser which remembers keys has one
 * effect a batch however often it is sent. Busy answers are retried when Retry-After says; other 4xx are final.
 */
export class HttpSink implements Sink {
  constructor(private readonly options: HttpSinkOptions) {}

  async prepare(): Promise<void> {}

  async deliver(batch: LoadedBatch, signal: AbortSignal): Promise<SinkResult> {
    if (batch.files.length === 0) return { target: 'nothing left to send' };
    const response = await this.post(batch, signal);
    const answer = await readLimited(response);
    if (response.ok) return { target: new URL(this.options.url).origin, ...this.resultOf(answer) };
    throw this.refusal(response, answer);
  }

  private async post(batch: LoadedBatch, signal: AbortSignal): Promise<Response> {
    const { url, timeoutMs } = this.options;
    try {
      return await fetch(url, {
        method: 'POST',
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        headers: this.headers(batch.id),
        body: Buffer.concat(renderBatch('json', batch.id, batch.totalTokens, batch.files)),
      });
    } catch (error) {
      const cause =
        error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new AnalyzerUnavailableError(cause, error);
    }
  }

  private headers(batchId: string): Record<string, string> {
    const { authorization } = this.options;
    const trace = currentTrace();
    return {
      'content-type': 'application/json',
      'idempotency-key': batchId,
      ...(authorization && { authorization }),
      ...(trace && { traceparent: trace }),
    };
  }

  private refusal(response: Response, answer: string): Error {
    const { status, headers } = response;
    if (BUSY.includes(status)) {
      const busy = new AnalyzerUnavailableError(`status ${status}`);
      const delay = retryAfterMs(headers.get('retry-after'), Date.now());
      return delay === undefined ? busy : new RetryLater(delay, busy);
    }
    if (status >= 400 && status < 500) return new BatchRefusedError(status, answer.slice(0, 500));
    return new AnalyzerUnavailableError(`status ${status}: ${answer.slice(0, 500)}`);
  }

  private resultOf(answer: string): { result?: unknown } {
    if (!this.options.keepResults || answer === '') return {};
    try {
      return { result: JSON.parse(answer) as unknown };
    } catch {
      return { result: answer };
    }
  }
}

/** The answer as text; one that is too long is cut, so that an analyser cannot fill our memory. */
async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString();
}
