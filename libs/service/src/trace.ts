import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

// W3C trace context, level 1: version-traceid-parentid-flags.
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;
const storage = new AsyncLocalStorage<string>();

/** A new root `traceparent`. */
export function newTrace(): string {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
}

/** The trace of the work that is running now, if any. */
export function currentTrace(): string | undefined {
  return storage.getStore();
}

/** Runs `fn` under the given trace; one that is missing or malformed is replaced by a new one, never trusted. */
export function withTrace<T>(traceparent: string | undefined, fn: () => T): T {
  return storage.run(traceparent && TRACEPARENT.test(traceparent) ? traceparent : newTrace(), fn);
}

/** What a traceparent names: a trace, and a span of it. */
export function traceparentParts(traceparent: string): { traceId: string; spanId: string } | undefined {
  const [, trace, span] = TRACEPARENT.exec(traceparent) ?? [];
  return trace && span ? { traceId: trace, spanId: span } : undefined;
}

/** The 32 hex digits that correlate log lines across apps. */
export function traceId(traceparent: string): string | undefined {
  return traceparentParts(traceparent)?.traceId;
}
