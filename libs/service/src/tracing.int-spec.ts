import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSpanCollector, type SpanCollector } from '#testing';
import { newTrace, traceparentParts } from './trace.js';
import { isTracing, recordSpan, startTracing, stopTracing } from './tracing.js';

describe('spans', () => {
  let collector: SpanCollector;
  beforeAll(async () => {
    collector = await startSpanCollector();
  });
  afterAll(() => collector.stop());

  it('go nowhere until a collector is named', () => {
    recordSpan({ name: 'unseen', startedAt: 1 });
    expect(isTracing()).toBe(false);
  });

  it('are sent as OTLP, with their trace, parent, links, times and errors', async () => {
    const [scan, batch] = [newTrace(), newTrace()];
    await startTracing(`${collector.url}/`, 'analyzer');
    expect(isTracing()).toBe(true);
    recordSpan({
      name: 'batch',
      self: batch,
      links: [scan, undefined, 'junk'],
      startedAt: 1_500,
      endedAt: 4_250,
    });
    recordSpan({
      ...{ name: 'deliver', parent: batch, startedAt: 3_000, endedAt: 4_000 },
      ...{ attributes: { 'millrace.files': 3 }, error: new Error('status 413') },
    });
    await stopTracing();
    expect(isTracing()).toBe(false);
    const [first, second] = collector.spans;
    expect(first).toEqual({
      ...{ service: 'millrace-analyzer', name: 'batch', startMs: 1_500, endMs: 4_250, attributes: {} },
      ...traceparentParts(batch),
      links: [traceparentParts(scan)],
    });
    expect(second).toMatchObject({
      ...{ name: 'deliver', traceId: first?.traceId, parentSpanId: first?.spanId, error: 'status 413' },
      attributes: { 'millrace.files': 3 },
    });
    expect(collector.spans).toHaveLength(2);
  });

  it('keep nobody from ending while the collector is away', async () => {
    await startTracing('http://127.0.0.1:1', 'analyzer');
    recordSpan({ name: 'lost', startedAt: 1 });
    await stopTracing();
  });
});
