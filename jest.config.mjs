// All tests: unit (*.spec.ts), integration on real services (*.int-spec.ts), composed processes (*.e2e-spec.ts).
const services = './dist/libs/testing/src';

export const base = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  moduleNameMapper: {
    '^#([a-z-]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/dist/'],
  injectGlobals: false,
};

export default {
  ...base,
  testMatch: ['<rootDir>/{apps,libs,test}/**/*.{spec,int-spec,e2e-spec}.ts'],
  globalSetup: `${services}/global-setup.js`,
  setupFilesAfterEnv: ['<rootDir>/test/retry-once.ts'],
  globalTeardown: `${services}/global-teardown.js`,
  maxWorkers: 2,
  testTimeout: 60_000,
  // What a test leaves open is the leak guard's to tell; it must not keep a finished run from ending.
  forceExit: true,
};
