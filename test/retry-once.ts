import { expect, jest } from '@jest/globals';

// Tests that kill processes and cut connections share two cores with what they measure. A failure is printed either way;
// only one that comes twice is a verdict. Unit tests have no such excuse.
if (/\.(int|e2e)-spec\.ts$/.test(expect.getState().testPath ?? ''))
  jest.retryTimes(1, { logErrorsBeforeRetry: true });
