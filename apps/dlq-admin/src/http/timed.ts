import type { RequestHandler } from 'express';
import type { Metrics } from '#service';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Times requests by the route that answered, never by the address, which anybody may invent. A stream's age is no duration. */
export function timed(metrics: Metrics): RequestHandler {
  const durations = metrics.histogram({
    name: 'millrace_http_request_duration_seconds',
    help: 'Time from a request to its answer.',
    labels: ['method', 'route', 'status'],
    buckets: SECONDS,
  });
  return (request, response, next) => {
    const begun = performance.now();
    response.on('finish', () => {
      const route = (request.route as { path?: string } | undefined)?.path ?? 'none';
      if (route.endsWith('/stream')) return;
      const method = METHODS.has(request.method) ? request.method : 'other';
      const labels = { method, route, status: String(response.statusCode) };
      durations.observe(labels, (performance.now() - begun) / 1_000);
    });
    next();
  };
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']);
