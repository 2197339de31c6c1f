import type { IncomingHttpHeaders } from 'node:http';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

export const isSafe = (method: string): boolean => SAFE.has(method);

/**
 * Why a changing request looks forged by another site; null when it does not. Browsers say where a request comes from
 * (Sec-Fetch-Site, Origin); programs say nothing.
 */
export function forgerySign(method: string, headers: IncomingHttpHeaders): string | null {
  if (isSafe(method)) return null;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return `Sec-Fetch-Site is ${String(site)}`;
  const { origin, host } = headers;
  if (origin !== undefined && hostOf(origin) !== host) return 'Origin is another site';
  return null;
}

/** A body in any other form could be sent by a plain HTML form, without asking. */
export function hasForeignBody(method: string, headers: IncomingHttpHeaders): boolean {
  if (isSafe(method)) return false;
  const hasBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
  const type = headers['content-type'];
  return (
    (hasBody || type !== undefined) && !/^application\/json\s*(;\s*charset=utf-8\s*)?$/i.test(type ?? '')
  );
}

function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}
