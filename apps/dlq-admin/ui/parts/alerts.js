import { may, post } from '../api.js';
import { ago, visible } from '../format.js';
import { html } from '../preact.js';
import { Text } from './pieces.js';
import { attempt } from './toast.js';

/** @import { AlertView } from '#dlq-client' */

/** @param {{ of: AlertView[], reload: () => Promise<unknown> }} props */
export const Alerts = ({ of, reload }) =>
  of
    .filter(({ state }) => state === 'firing')
    .map((alert) => html`<${Alert} key=${alert.rule} of=${alert} reload=${reload} />`);

function Alert({ of: { rule, words, since, acknowledgedBy, acknowledgedAt }, reload }) {
  const acknowledge = async () => {
    await attempt(() => post('/alerts/acknowledge', { rule }));
    await reload();
  };
  return html`
    <div class="notice ${acknowledgedBy ? 'warn' : 'bad'}" role="alert">
      <strong>Alert </strong><${Text} of=${words} /> <span>(since ${ago(since)})</span>
      ${acknowledgedBy && html`<span> · <${Text} of=${acknowledgedBy} /> looks after it, since ${ago(acknowledgedAt)}</span>`}
      ${!acknowledgedBy && may('operator') && html` <button class="small" aria-label="Acknowledge ${visible(words)}" onClick=${acknowledge}>Acknowledge</button>`}
    </div>`;
}
