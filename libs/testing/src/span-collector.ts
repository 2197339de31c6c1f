import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  error?: string;
}

export interface SpanCollector {
  url: string;
  spans: CollectedSpan[];
  stop(): Promise<void>;
}

interface Raw {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  links?: { traceId: string; spanId: string }[];
  status?: { code: number; message?: string };
}
type Attribute = { key: string; value: Record<string, unknown> };
type Sent = { resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Raw[] }[] }[] };

/** A collector of OpenTelemetry spans that takes OTLP over HTTP as JSON, and keeps them. */
export async function startSpanCollector(): Promise<SpanCollector> {
  const spans: CollectedSpan[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      if (request.url === '/v1/traces') spans.push(...spansOf(JSON.parse(text) as Sent));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function spansOf({ resourceSpans }: Sent): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((raw) => spanOf(String(valuesOf(resource.attributes)['service.name']), raw)),
    ),
  );
}

function spanOf(service: string, raw: Raw): CollectedSpan {
  const { traceId, spanId, parentSpanId, name, attributes, links = [], status } = raw;
  const ms = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1_000_000n);
  return {
    ...{ service, name, traceId, spanId, attributes: valuesOf(attributes) },
    ...(parentSpanId && { parentSpanId }),
    ...{ startMs: ms(raw.startTimeUnixNano), endMs: ms(raw.endTimeUnixNano) },
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    ...(status?.code === 2 && { error: status.message ?? '' }),
  };
}

const valuesOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
