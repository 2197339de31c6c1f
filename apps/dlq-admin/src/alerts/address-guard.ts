import { BlockList, isIP, isIPv4 } from 'node:net';

/** Never reachable by webhook: link-local (cloud metadata lives there), multicast, reserved, unspecified. */
const NEVER = new BlockList();
/** Reachable only when private addresses are allowed. */
const PRIVATE = new BlockList();

for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  NEVER.addSubnet(address, bits, 'ipv4');
for (const [address, bits] of [
  ['fe80::', 10],
  ['ff00::', 8],
  ['2001:db8::', 32],
  ['fd00:ec2::', 32],
  ['64:ff9b::', 96],
  ['2002::', 16],
  ['100::', 64],
] as const)
  NEVER.addSubnet(address, bits, 'ipv6');
NEVER.addAddress('::', 'ipv6');

for (const [address, bits] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  PRIVATE.addSubnet(address, bits, 'ipv4');
PRIVATE.addAddress('::1', 'ipv6');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');

/** Whether a request may go to this address. Addresses of IPv4 written as IPv6 are judged as what they are. */
export function mayCall(address: string, { allowPrivate }: { allowPrivate: boolean }): boolean {
  const plain = unmapped(address);
  if (isIP(plain) === 0) return false;
  const family = isIPv4(plain) ? 'ipv4' : 'ipv6';
  if (NEVER.check(plain, family)) return false;
  return allowPrivate || !PRIVATE.check(plain, family);
}

function unmapped(address: string): string {
  const dotted = /^::(?:ffff:(?:0:)?)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (dotted) return dotted;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const bits = (parseInt(high, 16) << 16) | parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}
