// All tests: unit (*.spec.ts), integration on real services (*.int-spec.ts), composed processes (*.e2e-spec.ts). Run them
// by `npm test`, which starts Node so that it loads TypeScript (scripts/typescript.mjs).
const UNIT = process.env.MILLRACE_UNIT_ONLY !== undefined;
const PARTS = '<rootDir>/scripts/jest';

export default {
  rootDir: import.meta.dirname,
  testMatch: [`<rootDir>/{apps,libs,test}/**/*.${UNIT ? 'spec' : '{spec,int-spec,e2e-spec}'}.ts`],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  testEnvironment: `${PARTS}/environment.mjs`,
  runtime: `${PARTS}/runtime.cjs`,
  testRunner: `${PARTS}/runner.mjs`,
  testSequencer: `${PARTS}/sequencer.mjs`,
  reporters: ['default', `${PARTS}/reporter.mjs`],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  injectGlobals: false,
  ...(!UNIT && { globalSetup: `${PARTS}/start-services.mjs`, globalTeardown: `${PARTS}/stop-services.mjs` }),
  // Two cores: half of what the composed tests take is waiting.
  maxWorkers: 4,
  // Ends what hangs; on a busy machine what takes 10 s alone takes a minute.
  testTimeout: 180_000,
  // A busy machine needs longer than half a second to end a process; one that leaks was named by its file already.
  workerGracefulExitTimeout: 10_000,
};
