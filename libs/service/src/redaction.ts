import { ownRule, SECRET_RULES, type SecretRule } from './secret-rules.js';

export const MASK = '[redacted]';
// `tokens` and `token_count` are counts, `token` is a credential.
const SECRET_KEY =
  /pass(word|wd|phrase|code)|(^|[-_.])(pass|pwd|pin|otp|jwt|sig)$|[a-z]pwd$|secret|token$|authorization|cookie|credential|(api|access|account|auth|encryption|master|private|shared|signing)[-_. ]?key(?![-_. ]?(id|prefix)$)|connection[-_. ]?string|session[-_. ]?id$/i;
const MAX_KEY = 256;

// What the rules may look at, in characters times rules: a fraction of a second, however hostile the text.
const BUDGET = 250_000;
// A secret that the end of the budget cuts in two is not recognised; so much before the cut goes with the rest.
const MARGIN = 512;

export interface RedactionBudget {
  left: number;
}

export const redactionBudget = (): RedactionBudget => ({ left: BUDGET });

let rules = SECRET_RULES;

/** Adds rules of this installation's own (REDACT_PATTERNS), for the whole process. */
export function redactAlso(patterns: readonly string[]): void {
  rules = [...SECRET_RULES, ...patterns.map(ownRule)];
}

/**
 * Masks credentials inside a text. Linear in the text and bounded by the budget: what is too much to check and might hold
 * a secret is left out, with a note.
 */
export function redactText(text: string, budget: RedactionBudget = redactionBudget()): string {
  const lower = text.toLowerCase();
  const possible = rules.filter(({ hints }) => hints.some((hint) => lower.includes(hint)));
  if (possible.length === 0) return text;
  const length = Math.min(text.length, Math.floor(Math.max(0, budget.left) / possible.length));
  budget.left -= length * possible.length;
  const masked = possible.reduce(applied, text.slice(0, length));
  if (length === text.length) return masked;
  const kept = masked.slice(0, Math.max(0, masked.length - MARGIN));
  return `${kept}${MASK} (the rest of ${text.length} characters: too much to check)`;
}

function applied(text: string, { pattern, isSecret }: SecretRule): string {
  const found = pattern.matcher(text);
  const parts: string[] = [];
  let from = 0;
  while (found.find()) {
    const [before, after] = [1, 2].map((n) => (found.groupCount() < n ? '' : (found.group(n) ?? '')));
    const [start, end] = [found.start() + (before?.length ?? 0), found.end() - (after?.length ?? 0)];
    if (isSecret && !isSecret(text.slice(start, end))) continue;
    parts.push(text.slice(from, start), MASK);
    from = end;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(from);
}

/** A copy in which values under secret-looking keys and secret shapes in texts are masked. Bounded in depth. */
export function redactSecrets<T extends object>(value: T): T {
  return redact(value, 0, redactionBudget()) as T;
}

function redact(value: unknown, depth: number, budget: RedactionBudget): unknown {
  if (typeof value === 'string') return redactText(value, budget);
  if (typeof value !== 'object' || value === null || value instanceof Error || value instanceof Date)
    return value;
  if (depth > 8) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1, budget));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      redactText(key, budget),
      isSecretKey(key) ? MASK : redact(item, depth + 1, budget),
    ]),
  );
}

export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key.length > 2 * MAX_KEY ? key.slice(0, MAX_KEY) + key.slice(-MAX_KEY) : key);
}
