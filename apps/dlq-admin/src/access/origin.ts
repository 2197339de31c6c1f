import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';

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
  if (origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host))
    return 'Origin is another site';
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

/** Whether an address to bind to, or of a peer, is this machine only. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address
    .replace(/^\[|\]$/g, '')
    .replace(/^::ffff:/i, '')
    .toLowerCase();
  return plain === 'localhost' || plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}

/** Whether a Host header names this machine. Another name that leads here is a rebinding attack. */
export const isLoopbackHost = (host = ''): boolean => isLoopbackAddress(host.replace(/:\d+$/, ''));
