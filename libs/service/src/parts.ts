import type { INestApplicationContext, Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { forgottenParts } from './errors.js';
import type { Service } from './service.js';

export type PartToken = Type<Service> | symbol | string;

/**
 * The parts of an app in the order of its start list. A provider that implements Service and is not in the list would
 * never start, nor stop: the boot fails instead.
 */
export function partsOf(app: INestApplicationContext, tokens: readonly PartToken[]): Service[] {
  const parts = tokens.map((token) => app.get<Service>(token, { strict: false }));
  const provided = app
    .get(DiscoveryService, { strict: false })
    .getProviders()
    .map(({ instance }) => instance as unknown);
  const forgotten = [...new Set(provided)].filter(isService).filter((part) => !parts.includes(part));
  if (forgotten.length > 0) throw forgottenParts(forgotten.map(({ name }) => name));
  return parts;
}

function isService(value: unknown): value is Service {
  const { name, start, stop } = (value ?? {}) as Partial<Service>;
  return typeof name === 'string' && typeof start === 'function' && typeof stop === 'function';
}
