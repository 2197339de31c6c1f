const MASK = '[redacted]';
// `tokens` and `token_count` are counts, `token` is a credential.
const SECRET_KEY = /pass(word|wd)?$|secret|token$|authorization|cookie|api[-_]?key|credential/i;

const SECRET_TEXT: readonly [RegExp, string][] = [
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, `$1${MASK}@`],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, MASK],
  [/\b(AKIA|ASIA)[0-9A-Z]{16}\b/g, MASK],
  [/\bAIza[\w-]{35}\b/g, MASK],
  [/\bgh[pousr]_\w{36,}\b/g, MASK],
  [/\bBearer\s+[\w.~+/=-]{8,}/gi, `Bearer ${MASK}`],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, MASK],
];

/** Masks credentials inside a text: URL user-info, JSON web tokens, well-known key shapes, private keys. */
export function redactText(text: string): string {
  return SECRET_TEXT.reduce((masked, [shape, mask]) => masked.replace(shape, mask), text);
}

/** A copy in which values under secret-looking keys and secret shapes in texts are masked. Bounded in depth. */
export function redactSecrets<T extends object>(value: T): T {
  return redact(value, 0) as T;
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null || value instanceof Error || value instanceof Date)
    return value;
  if (depth > 8) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, isSecretKey(key) ? MASK : redact(item, depth + 1)]),
  );
}

export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key);
}
