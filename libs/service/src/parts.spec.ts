import { afterEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { partsOf } from './parts.js';
import type { Service } from './service.js';

class Part implements Service {
  constructor(readonly name: string) {}
  async start(): Promise<void> {}
  async stop(): Promise<void> {}
}

const SPARE = Symbol('spare');

@Module({
  providers: [
    { provide: 'first', useFactory: () => new Part('first') },
    { provide: SPARE, useFactory: async () => new Part('spare') },
    { provide: 'same as first', useExisting: 'first' },
    { provide: 'not a part', useValue: { name: 'settings', start: 1 } },
  ],
})
class Feature {}

describe('the parts of an app', () => {
  let app: TestingModule | undefined;
  const compile = async (): Promise<TestingModule> =>
    (app = await Test.createTestingModule({ imports: [DiscoveryModule, Feature] }).compile());

  afterEach(() => app?.close());

  it('come in the order of its list', async () => {
    const names = partsOf(await compile(), [SPARE, 'first']).map(({ name }) => name);
    expect(names).toEqual(['spare', 'first']);
  });

  it('are refused when a provider that implements Service is not in the list', async () => {
    const context = await compile();
    expect(() => partsOf(context, ['first'])).toThrow(
      /nothing starts spare: a provider that implements Service must be in the app's list of services/,
    );
  });
});
