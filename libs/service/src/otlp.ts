import { randomBytes } from 'node:crypto';
import { SpanKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { traceparentParts } from './trace.js';
import type { SpanFacts } from './tracing.js';
import { VERSION } from './version.js';

/** Spans in bounded batches to a collector; those that it does not take are dropped, and nobody waits for it. */
export function otlpExporter(endpoint: string, app: string) {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const processor = new BatchSpanProcessor(new OTLPTraceExporter({ url }));
  const resource = { attributes: { 'service.name': `millrace-${app}`, 'service.version': VERSION } };
  return {
    record: (facts: SpanFacts): void =>
      processor.onEnd(spanOf(facts, resource as unknown as ReadableSpan['resource'])),
    /** Sends what was recorded, and ends. */
    stop: (): Promise<void> => processor.shutdown(),
  };
}

function spanOf(facts: SpanFacts, resource: ReadableSpan['resource']): ReadableSpan {
  const { name, startedAt, endedAt = Date.now(), attributes = {}, error } = facts;
  const parent = contextOf(facts.parent);
  const self = contextOf(facts.self) ?? contextIn(parent);
  const message = error instanceof Error ? error.message : 'it threw what is no error';
  return {
    name,
    resource,
    attributes,
    kind: SpanKind.INTERNAL,
    spanContext: () => self,
    ...(parent && parent.spanId !== self.spanId && { parentSpanContext: parent }),
    startTime: timeOf(startedAt),
    endTime: timeOf(endedAt),
    duration: timeOf(Math.max(0, endedAt - startedAt)),
    status: error === undefined ? { code: SpanStatusCode.OK } : { code: SpanStatusCode.ERROR, message },
    links: (facts.links ?? []).flatMap((link) => contextOf(link) ?? []).map((context) => ({ context })),
    events: [],
    ended: true,
    instrumentationScope: { name: 'millrace', version: VERSION },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  };
}

function contextOf(traceparent: string | null | undefined): SpanContext | undefined {
  const parts = traceparent ? traceparentParts(traceparent) : undefined;
  return parts && { ...parts, traceFlags: TraceFlags.SAMPLED };
}

const contextIn = (parent: SpanContext | undefined): SpanContext => ({
  traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
  spanId: randomBytes(8).toString('hex'),
  traceFlags: TraceFlags.SAMPLED,
});

const timeOf = (ms: number): HrTime => [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)];
