// Elements made by hand: text is always text, never markup.
const { document, location, history, window, URLSearchParams, FormData } = globalThis;
export { document, FormData, history, location, URLSearchParams, window };

const SVG = 'http://www.w3.org/2000/svg';

/** h('a', { class: 'x', href: '/y', on: { click } }, 'text', child, …); null and false children are left out. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, { on = {}, value, checked, disabled, ...attributes }, children) {
  for (const [name, text] of Object.entries(attributes))
    if (text !== undefined && text !== null && text !== false)
      element.setAttribute(name, text === true ? '' : String(text));
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  element.append(
    ...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false),
  );
  if (value !== undefined) element.value = value;
  if (checked !== undefined) element.checked = checked;
  if (disabled !== undefined) element.disabled = disabled;
  return element;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(9).filter(Boolean));
  return parent;
}

export const byId = (id) => document.getElementById(id);

/** Tells screen readers what just happened. */
export function announce(text) {
  byId('live').textContent = text;
}

export function toast(text, kind = 'info') {
  announce(text);
  const box = h('div', { class: `toast ${kind}` }, text);
  byId('toasts').append(box);
  setTimeout(() => box.remove(), kind === 'bad' ? 9000 : 4500);
}
