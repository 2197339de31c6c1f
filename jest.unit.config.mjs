// Unit tests only: pure code, no services, no build needed.
import { base } from './jest.config.mjs';

export default { ...base, testMatch: ['<rootDir>/{apps,libs,test}/**/*.spec.ts'] };
