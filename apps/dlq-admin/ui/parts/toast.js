/** Tells screen readers what just happened. */
export function announce(text) {
  const live = document.getElementById('live');
  if (live) live.textContent = text;
}

export function toast(text, kind = 'info') {
  announce(text);
  const box = document.createElement('div');
  box.className = `toast ${kind}`;
  box.textContent = text;
  document.getElementById('toasts')?.append(box);
  setTimeout(() => box.remove(), kind === 'bad' ? 9000 : 4500);
}

/** Does what a button asks for, and tells a refusal. */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    toast(error.message, 'bad');
    return undefined;
  }
}
