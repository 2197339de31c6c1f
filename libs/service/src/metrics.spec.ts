import { describe, expect, it } from '@jest/globals';
import { Metrics } from './index.js';

describe('Metrics', () => {
  it('creates a metric once and hands out the same one again', async () => {
    const metrics = new Metrics();
    const spec = { name: 'millrace_jobs_total', help: 'Jobs.', labels: ['queue'] } as const;
    metrics.counter(spec).inc({ queue: 'a' });
    metrics.counter(spec).inc({ queue: 'a' });
    expect(await metrics.text()).toContain('millrace_jobs_total{queue="a"} 2');
  });

  it('reads a gauge at scrape time', async () => {
    const metrics = new Metrics();
    let depth = 1;
    metrics.gauge({ name: 'millrace_depth', help: 'Depth.', collect: (gauge) => gauge.set(depth) });
    depth = 7;
    expect(await metrics.text()).toContain('millrace_depth 7');
  });

  it('reports the process as stock dashboards ask for it, and no gauge under the name of a counter', async () => {
    const metrics = new Metrics();
    metrics.collectProcess();
    const text = await metrics.text();
    for (const name of [
      'process_resident_memory_bytes',
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_seconds',
    ])
      expect(text).toContain(`\n${name} `);
    expect(text).not.toMatch(/^# TYPE \w+_total gauge/m);
  });
});
