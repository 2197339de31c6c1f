import type { Kind } from './key.js';

/** A text that is not of the key's kind stays a text, so that the validator names what was found. */
export function coerce(raw: unknown, kind: Kind): unknown {
  if (typeof raw !== 'string') return raw;
  switch (kind) {
    case 'string':
      return raw;
    case 'integer':
      return /^[+-]?\d+$/.test(raw.trim()) ? Number(raw) : raw;
    case 'boolean':
      return toBoolean(raw.trim().toLowerCase()) ?? raw;
    case 'list':
      return toList(raw);
  }
}

/** A JSON list, for what holds commas itself; else texts with commas between them, those inside braces of a glob apart. */
function toList(text: string): unknown[] {
  if (text.trimStart().startsWith('['))
    try {
      const parsed: unknown = JSON.parse(text);
      if (Array.isArray(parsed)) return parsed;
    } catch {
      // A glob may begin with a bracket, too.
    }
  return splitOutsideBraces(text)
    .map((item) => item.trim())
    .filter(Boolean);
}

/** From the end, where the next brace is known: a pattern that looks ahead takes the square of the text's length. */
function splitOutsideBraces(text: string): string[] {
  const items: string[] = [];
  let end = text.length;
  let inside = false;
  for (let at = end - 1; at >= 0; at--) {
    const character = text[at];
    if (character === '{' || character === '}') inside = character === '}';
    else if (character === ',' && !inside) {
      items.push(text.slice(at + 1, end));
      end = at;
    }
  }
  return [...items, text.slice(0, end)].reverse();
}

function toBoolean(text: string): boolean | undefined {
  if (['true', '1', 'yes', 'on'].includes(text)) return true;
  if (['false', '0', 'no', 'off'].includes(text)) return false;
  return undefined;
}
