import { describe, expect, it } from '@jest/globals';
import { Metrics } from '#service';
import { DurationHistogram } from './duration-histogram.js';

describe('the duration histogram', () => {
  it('reports cumulative buckets, sum and count of each series, as Prometheus expects', async () => {
    const { registry } = new Metrics();
    const histogram = DurationHistogram.of(registry, 'h_seconds', 'Some durations', [0.1, 1]);
    const record = histogram.recorder({ queue: 'q' });
    [0.1, 0.5, 0.75, 2].forEach(record);
    expect(DurationHistogram.of(registry, 'h_seconds', 'Some durations', [0.1, 1])).toBe(histogram);
    expect(await registry.metrics()).toBe(
      [
        '# HELP h_seconds Some durations',
        '# TYPE h_seconds histogram',
        'h_seconds_bucket{le="0.1",queue="q"} 1',
        'h_seconds_bucket{le="1",queue="q"} 3',
        'h_seconds_bucket{le="+Inf",queue="q"} 4',
        'h_seconds_sum{queue="q"} 3.35',
        'h_seconds_count{queue="q"} 4',
        '',
      ].join('\n'),
    );
  });
});
