import { document } from './dom.js';
import { helpDialog } from './parts/dialog.js';

// What the present view does on a key; views set it and clear it.
const bound = new Map();

export function bindKeys(keys) {
  bound.clear();
  for (const [key, action] of Object.entries(keys)) bound.set(key, action);
  return () => bound.clear();
}

let prefix = '';
const GO = { o: '/', g: '/groups', l: '/letters', b: '/bulk', e: '/events', a: '/audit' };

export function installKeys(go) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable]');
    if (event.key === 'Escape' && typing) return event.target.blur();
    if (typing || document.querySelector('dialog[open]')) return;
    const action = actionOf(event.key, go);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function actionOf(key, go) {
  const before = prefix;
  prefix = key === 'g' && before !== 'g' ? 'g' : '';
  if (before === 'g' && GO[key]) return () => go(GO[key]);
  if (key === '?') return helpDialog;
  if (key === '/') return bound.get('/') ?? (() => go('/letters?focus=1'));
  return bound.get(key);
}
