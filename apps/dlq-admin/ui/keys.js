import { helpDialog } from './parts/dialog.js';
import { go } from './router.js';

// What the present view does on a key; views set it and clear it.
let bound = {};

export function bindKeys(keys) {
  bound = keys;
  return () => void (bound = {});
}

let prefix = '';
const GO = {
  p: '/',
  g: '/groups',
  l: '/letters',
  b: '/bulk',
  q: '/queues',
  e: '/events',
  a: '/audit',
};

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
