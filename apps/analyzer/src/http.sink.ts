import { hash } from 'node:crypto';
import { renderBatch } from '#envelope';
import { currentTrace } from '#service';
import { BatchRefusedError, DestinationAwayError } from './analyzer.errors.js';
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
const BUSY = [408, 425, 429];

/**
 * Posts each batch as JSON. Its Idempotency-Key is made of the batch's id and of the body, so that an analyser which
 * remembers keys has one effect a batch however often it is sent, and a key never has two bodies: what changed between
 * two tries is no longer sent. 408, 425 and 429 mean busy; every other 4xx refuses this batch for good; no
 * answer, 5xx and redirects mean that the destination is away.
 */
export class HttpSink implements Sink {
  readonly target: string;

  constructor(private readonly options: HttpSinkOptions) {
    const { origin, pathname } = new URL(options.url);
    this.target = `${origin}${pathname}`;
  }

  async deliver(batch: LoadedBatch, signal: AbortSignal): Promise<SinkResult> {
    if (batch.files.length === 0) return { target: 'nothing left to send' };
    const response = await this.post(batch, signal);
    const answer = await readLimited(response).catch((cause: unknown) => {
      throw new DestinationAwayError('its answer broke off', { cause });
    });
    if (response.ok) return { target: this.target, ...this.resultOf(answer) };
    throw this.refusal(response, answer);
  }

  private async post(batch: LoadedBatch, signal: AbortSignal): Promise<Response> {
    const { url, timeoutMs } = this.options;
    const body = Buffer.concat(renderBatch('json', batch.id, batch.totalTokens, batch.files));
    try {
      return await fetch(url, {
        method: 'POST',
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        headers: this.headers(`${batch.id}-${hash('sha256', body).slice(0, 32)}`),
        body,
      });
    } catch (error) {
      const cause =
        error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new DestinationAwayError(cause, { cause: error });
    }
  }

  private headers(key: string): Record<string, string> {
    const { authorization } = this.options;
    const trace = currentTrace();
    return {
      'content-type': 'application/json',
      'idempotency-key': key,
      ...(authorization && { authorization }),
      ...(trace && { traceparent: trace }),
    };
  }

  private refusal(response: Response, answer: string): Error {
    const { status, headers } = response;
    const wait = retryAfterMs(headers.get('retry-after'), Date.now());
    const busy = BUSY.includes(status) || (status === 503 && wait !== undefined);
    if (!busy && status >= 400 && status < 500) return new BatchRefusedError(status, answer.slice(0, 500));
    const said = answer === '' ? '' : `: ${answer.slice(0, 500)}`;
    return new DestinationAwayError(`status ${status}${said}`, { busy, retryAfterMs: wait });
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
