import type { otlpExporter } from './otlp.js';
import { within } from './sleep.js';

/** A stretch of work, told of when it has ended. */
export interface SpanFacts {
  name: string;
  /** The traceparent that stands for the span itself, when what it has caused carries it; else it gets an id of its own. */
  self?: string;
  /** The traceparent of what has caused it. */
  parent?: string | null;
  /** Traceparents of other work that it goes back to. */
  links?: readonly (string | undefined)[];
  /** UTC milliseconds. */
  startedAt: number;
  endedAt?: number;
  attributes?: Record<string, string | number | boolean>;
  /** What it failed of. */
  error?: unknown;
}

const STOP_MS = 1_000;

let exporter: ReturnType<typeof otlpExporter> | undefined;

/** Whether anybody wants spans; what only serves them is left undone otherwise. */
export const isTracing = (): boolean => exporter !== undefined;

/** Nothing, unless tracing was started. Never throws, never waits. */
export function recordSpan(span: SpanFacts): void {
  exporter?.record(span);
}

/** From here on spans go to the collector (OTLP over HTTP). The libraries for it are loaded only now. */
export async function startTracing(endpoint: string, app: string): Promise<void> {
  const { otlpExporter } = await import('./otlp.js');
  exporter = otlpExporter(endpoint, app);
}

/** Sends what is left, for at most a second: a collector that is away keeps no process from ending. */
export async function stopTracing(): Promise<void> {
  const ending = exporter;
  exporter = undefined;
  if (ending) await within(STOP_MS, ending.stop(), () => {}).catch(() => {});
}
