/** A line of an ignore file that is not followed: matching it could take for ever. */
export interface RefusedRule {
  line: number;
  pattern: string;
}

// Each wildcard multiplies the ways to match by the depth of a path, or the length of a name: with more, a hostile
// pattern takes seconds for a file, and each one more takes ten times as long.
const MAX_DEEP = 3;
const MAX_STARS = 5;

/** The text without the lines that are refused; every line keeps its number. */
export function followedRules(text: string): { text: string; refused: RefusedRule[] } {
  const refused: RefusedRule[] = [];
  const lines = text.split('\n').map((pattern, index) => {
    if (!isCostly(pattern)) return pattern;
    refused.push({ line: index + 1, pattern: pattern.trim() });
    return '';
  });
  return { text: lines.join('\n'), refused };
}

function isCostly(pattern: string): boolean {
  if (pattern.startsWith('#')) return false;
  const segments = pattern.trim().split('/');
  const deep = segments.filter((segment) => /^\*{2,}$/.test(segment)).length;
  const stars = Math.max(...segments.map((segment) => segment.match(/\*+/g)?.length ?? 0));
  return deep > MAX_DEEP || stars > MAX_STARS;
}
