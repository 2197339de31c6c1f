import { relative, sep } from 'node:path';

// A newline or other control character in a name must not forge a header.
const CONTROL = /[\p{Cc}\u2028\u2029]/gu;

/** A path as a reader of a batch sees it: relative to `base` when it lies inside, on one line whatever it holds. */
export function shownPath(path: string, base?: string): string {
  let inside = path;
  // `relative` takes both paths apart, so it is asked only where the one does not simply begin with the other.
  if (base !== undefined)
    inside = path.startsWith(`${base}${sep}`) ? path.slice(base.length + 1) : relative(base, path);
  const shown = inside === '' || inside === '..' || inside.startsWith(`..${sep}`) ? path : inside;
  return shown.replace(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function partLabel({ part, parts }: { part: number; parts: number }): string {
  return parts > 1 ? ` (part ${part} of ${parts})` : '';
}
