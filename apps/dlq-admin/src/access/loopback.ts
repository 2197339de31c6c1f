import { isIPv4 } from 'node:net';

/** Whether an address to bind to, or of a peer, is this machine only. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address
    .replace(/^\[|\]$/g, '')
    .replace(/^::ffff:/i, '')
    .toLowerCase();
  return plain === 'localhost' || plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}

/** Whether a Host header names this machine. Another name that leads here is a rebinding attack. */
export function isLoopbackHost(host: string | undefined): boolean {
  if (!host) return false;
  return isLoopbackAddress(host.replace(/:\d+$/, ''));
}
