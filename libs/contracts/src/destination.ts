/** Where a pipeline delivers to. One pipeline has one; what changes it is said out loud. */
export interface Destination {
  sink: 'write' | 'http';
  /** An absolute folder, or an address without its secrets. */
  address: string;
  format: string;
}

const SECRET_PARAMETER = /key|token|secret|password|signature|^sig$|^auth|^code$/i;

export function folderDestination(folder: string, format: string): Destination {
  return { sink: 'write', address: folder, format };
}

/** Credentials change more often than places, and belong into no table: they are no part of an address. */
export function httpDestination(url: string): Destination {
  const address = new URL(url);
  address.username = '';
  address.password = '';
  address.hash = '';
  for (const name of [...address.searchParams.keys()])
    if (SECRET_PARAMETER.test(name)) address.searchParams.delete(name);
  return { sink: 'http', address: address.href, format: 'json' };
}

export function sameDestination(one: Destination, other: Destination): boolean {
  return one.sink === other.sink && one.address === other.address && one.format === other.format;
}

export function shownDestination({ sink, address, format }: Destination): string {
  return sink === 'http' ? address : `${address} (${format})`;
}
