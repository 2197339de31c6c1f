type AlertMetric = 'depth' | 'rate' | 'age';

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
  const [rule, metric, queue = null, ...levels] = FORM.exec(text) ?? [];
  const [raise = 0, resolve = 0] = levels.map(Number);
  if (rule === undefined || resolve > raise) return null;
  return { rule, metric: metric as AlertMetric, queue, raise, resolve };
}

export const isAlertRule = (text: string): boolean => parseAlertRule(text) !== null;

type AlertState = 'ok' | 'firing';

export function nextState(rule: AlertRule, state: AlertState, value: number): AlertState {
  if (value > rule.raise) return 'firing';
  return state === 'firing' && value > rule.resolve ? 'firing' : 'ok';
}

const WORDS: Record<AlertMetric, (n: string) => string> = {
  depth: (n) => `${n} open letters`,
  rate: (n) => `${n} letters a minute`,
  age: (n) => `the oldest open letter is ${n} old`,
};

/** A rule and its value as people say it: "120 open letters: over 100; clears at 50". */
export function inWords({ metric, queue, raise, resolve }: AlertRule, value: number): string {
  const say = (n: number): string => (metric === 'age' ? span(n) : n.toLocaleString('en-US'));
  const where = queue === null ? '' : ` in ${queue}`;
  return `${WORDS[metric](say(value))}${where}: over ${say(raise)}; clears at ${say(resolve)}`;
}

function span(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** The value that a rule looks at; for all queues, depths and rates add up and the oldest counts. */
export function valueOf({ metric, queue }: AlertRule, readings: ReadonlyMap<string, Readings>): number {
  if (queue !== null) return readings.get(queue)?.[metric] ?? 0;
  const values = [...readings.values()].map((reading) => reading[metric]);
  return metric === 'age' ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0);
}
