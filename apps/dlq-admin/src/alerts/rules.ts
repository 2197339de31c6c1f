export type AlertMetric = 'depth' | 'rate' | 'age';

/** Fires when the value is above `raise`, and resolves only when it is at most `resolve`: no flapping in between. */
export interface AlertRule {
  /** As written in the configuration; its name. */
  rule: string;
  metric: AlertMetric;
  /** One queue, or all together. */
  queue: string | null;
  raise: number;
  resolve: number;
}

/** What is watched of one queue: open letters, arrivals a minute, age of the oldest open letter in seconds. */
export interface Readings {
  depth: number;
  rate: number;
  age: number;
}

const FORM = /^(depth|rate|age)(?:@([^\s>@]{1,256}))?>(\d{1,12})\/(\d{1,12})$/;

export function parseAlertRule(text: string): AlertRule | null {
  const [, metric, queue, raise, resolve] = FORM.exec(text) ?? [];
  if (metric === undefined || Number(resolve) > Number(raise)) return null;
  return {
    rule: text,
    metric: metric as AlertMetric,
    queue: queue ?? null,
    raise: Number(raise),
    resolve: Number(resolve),
  };
}

export const isAlertRule = (text: string): boolean => parseAlertRule(text) !== null;

export type AlertState = 'ok' | 'firing';

export function nextState(rule: AlertRule, state: AlertState, value: number): AlertState {
  if (value > rule.raise) return 'firing';
  return state === 'firing' && value > rule.resolve ? 'firing' : 'ok';
}

/** The value that a rule looks at; for all queues, depths and rates add up and the oldest counts. */
export function valueOf({ metric, queue }: AlertRule, readings: ReadonlyMap<string, Readings>): number {
  if (queue !== null) return readings.get(queue)?.[metric] ?? 0;
  const values = [...readings.values()].map((reading) => reading[metric]);
  return metric === 'age' ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0);
}
