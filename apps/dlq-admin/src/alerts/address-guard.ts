import ipaddr from 'ipaddr.js';

/** Reachable only when private addresses are allowed; whatever else is not plain unicast is never reachable. */
const PRIVATE = new Set(['private', 'loopback', 'carrierGradeNat', 'uniqueLocal']);
// Metadata services of clouds that lie in private ranges.
const METADATA = ['fd00:ec2::/32', '100.100.100.200/32'].map((range) => ipaddr.parseCIDR(range));

/**
 * Whether a request may go to this address. An IPv4 address inside an IPv6 one (mapped, compatible, translated, tunnelled)
 * is judged as what it is where it is only another way of writing, and refused where it leads through a gateway.
 */
export function mayCall(address: string, { allowPrivate }: { allowPrivate: boolean }): boolean {
  if (!ipaddr.isValid(address) || address.includes('%')) return false;
  const plain = unwrapped(ipaddr.parse(address));
  if (METADATA.some((range) => plain.kind() === range[0].kind() && plain.match(range))) return false;
  const range = plain.range();
  return range === 'unicast' || (allowPrivate && PRIVATE.has(range));
}

function unwrapped(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  const bytes = address.toByteArray();
  // `::a.b.c.d` and `::ffff:0:a.b.c.d`; `::` and `::1` are themselves.
  const isCompatible = bytes
    .slice(0, 12)
    .every((byte, at) => byte === 0 || (byte === 255 && (at === 8 || at === 9)));
  return isCompatible && bytes.slice(12, 15).some((byte) => byte > 0)
    ? new ipaddr.IPv4(bytes.slice(12))
    : address;
}
