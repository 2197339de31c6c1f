import { BatchRefusedError, DestinationAwayError } from './analyzer.errors.js';
import type { BatchRenderer, RenderedBatch } from './batch-renderer.js';
import type { OpenBatch } from './open-batches.repository.js';
import { retryAfterMs } from './retry-after.js';
import type { Delivery, DeliveryTerms, Sink } from './sink.js';

interface HttpSinkOptions {
  url: string;
  authorization?: string;
  timeoutMs: number;
  keepResults: boolean;
  /** Told how long the analyser took, and what it said. */
  onAnswer?: (answer: Answer, seconds: number) => void;
}

/** `away`: none came. */
type Answer = 'accepted' | 'refused' | 'busy' | 'away';

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

  constructor(
    private readonly renderer: BatchRenderer,
    private readonly options: HttpSinkOptions,
  ) {
    const { origin, pathname } = new URL(options.url);
    this.target = `${origin}${pathname}`;
  }

  async deliver(batch: OpenBatch, terms: DeliveryTerms): Promise<Delivery> {
    const { signal, lastAttempt } = terms;
    const rendered = await this.renderer.render(batch, { signal, lastAttempt, format: 'json' });
    const { files, stale } = rendered;
    if (files === 0) return { files, stale, target: 'nothing left to send' };
    const answer = await this.timed(this.ask(batch.id, rendered, terms));
    return { files, stale, target: this.target, ...this.resultOf(answer) };
  }

  private async ask(id: string, rendered: RenderedBatch, terms: DeliveryTerms): Promise<string> {
    const response = await this.post(id, rendered, terms);
    const answer = await readLimited(response).catch((cause: unknown) => {
      throw new DestinationAwayError('its answer broke off', { cause });
    });
    if (response.ok) return answer;
    throw this.refusal(response, answer);
  }

  private timed<T>(asked: Promise<T>): Promise<T> {
    const begun = performance.now();
    const tell = (answer: Answer): void =>
      this.options.onAnswer?.(answer, (performance.now() - begun) / 1_000);
    asked.then(
      () => tell('accepted'),
      (error: unknown) => tell(answerOf(error)),
    );
    return asked;
  }

  private async post(
    id: string,
    { text, sha256 }: RenderedBatch,
    { signal, trace }: DeliveryTerms,
  ): Promise<Response> {
    const { url, timeoutMs } = this.options;
    try {
      return await fetch(url, {
        method: 'POST',
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        headers: this.headers(`${id}-${sha256.slice(0, 32)}`, trace),
        body: text ?? null,
      });
    } catch (error) {
      const cause =
        error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new DestinationAwayError(cause, { cause: error });
    }
  }

  private headers(key: string, trace: string | undefined): Record<string, string> {
    const { authorization } = this.options;
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

function answerOf(error: unknown): Answer {
  if (error instanceof BatchRefusedError) return 'refused';
  return error instanceof DestinationAwayError && error.busy ? 'busy' : 'away';
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
