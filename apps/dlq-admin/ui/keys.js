import { openDialog } from './parts/dialog.js';
import { html } from './preact.js';
import { go } from './router.js';

// What the present view does on a key; views set it and clear it.
let bound = {};

export function bindKeys(keys) {
  bound = keys;
  return () => void (bound = {});
}

let prefix = '';
const GO = { p: '/', g: '/groups', l: '/letters', b: '/bulk', q: '/queues', e: '/events', a: '/audit' };

export function installKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLElement)) return;
    const typing = event.target.closest('input:not([type=checkbox]), textarea, select');
    if (event.key === 'Escape' && typing) return event.target.blur();
    if (typing || document.querySelector('dialog[open]')) return;
    const action = actionOf(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function actionOf(key) {
  const before = prefix;
  prefix = key === 'g' && before !== 'g' ? 'g' : '';
  if (before === 'g' && GO[key]) return () => go(GO[key]);
  if (key === '?') return helpDialog;
  if (key === '/') return bound['/'] ?? (() => go('/letters?focus=1'));
  return bound[key];
}

const SHORTCUTS = [
  ['/', 'search letters'],
  ['j  k', 'next, previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['r', 'requeue (row, selection or letter)'],
  ['d', 'discard'],
  ['e', 'edit the payload'],
  ['g then p g l b q e a', 'go to the pipeline, groups, letters, bulk, queues, events, audit'],
  ['Esc', 'leave a field, close a dialog'],
  ['?', 'this help'],
];

const keysOf = (keys) =>
  keys.split(' ').map((key) => (key === 'then' || key === '' ? ` ${key} ` : html`<kbd>${key}</kbd>`));

export const helpDialog = () =>
  openDialog(
    'Keyboard',
    () => html`
      <table class="plain"><tbody>
        ${SHORTCUTS.map(([keys, text]) => html`<tr><th scope="row">${keysOf(keys)}</th><td>${text}</td></tr>`)}
      </tbody></table>`,
  );
