/* eslint-disable no-control-regex -- control characters are what `visible` is about. */
const NUMBER = new Intl.NumberFormat('en');
const TIME = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const STEPS = { year: 31_536_000, month: 2_592_000, day: 86_400, hour: 3_600, min: 60, s: 1 };

export const count = (value) => NUMBER.format(value);
export const moment = (ms) => TIME.format(new Date(ms));
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** "3 min ago" */
export function ago(ms, now = Date.now()) {
  const text = duration(Math.max(0, now - ms));
  return text === '0 s' ? 'just now' : `${text} ago`;
}

export function duration(ms) {
  const seconds = Math.floor(ms / 1000);
  const [name, size] = Object.entries(STEPS).find((step) => seconds >= step[1]) ?? ['s', 1];
  const n = Math.floor(seconds / size);
  return `${n} ${n > 1 && size > 60 ? `${name}s` : name}`;
}

// Controls would move the cursor, colour a terminal or turn the text around; here they are shown instead.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function visible(text) {
  return String(text).replace(HIDDEN, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** "1.2 MB" */
export function bytes(n) {
  const power = n < 1000 ? 0 : Math.min(5, Math.floor(Math.log10(n) / 3));
  const value = n / 1000 ** power;
  return `${value.toFixed(power && value < 100 ? 1 : 0)} ${['B', 'kB', 'MB', 'GB', 'TB', 'PB'][power]}`;
}

export const shorten = (text, max) => (text.length > max ? `${text.slice(0, max)}…` : text);
export const title = (word) => word[0].toUpperCase() + word.slice(1);
