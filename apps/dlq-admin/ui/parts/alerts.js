import { ago, count, duration, visible } from '../format.js';
import { html } from '../preact.js';

const FORM = /^(depth|rate|age)(?:@(.+))?>(\d+)\/(\d+)$/;
const WORDS = {
  depth: (n) => `${count(n)} open letters`,
  rate: (n) => `${count(n)} letters a minute`,
  age: (n) => `the oldest open letter ${duration(n * 1000)} old`,
};

/** A rule as people say it: what is over which limit, and when that is over. */
export function inWords(rule, value) {
  const [, metric, queue, raise, resolve] = FORM.exec(rule) ?? [];
  if (!metric) return `${visible(rule)}: now ${count(value)}`;
  const say = WORDS[metric];
  return `${say(value)}${queue ? ` in ${visible(queue)}` : ''}: over ${say(Number(raise))}; clears at ${say(Number(resolve))}`;
}

export const Alerts = ({ of }) =>
  of
    .filter(({ state }) => state === 'firing')
    .map(
      ({ rule, value, since }) =>
        html`<div class="notice bad" role="alert"><strong>Alert </strong>${inWords(rule, value)} <span>(since ${ago(since)})</span></div>`,
    );
