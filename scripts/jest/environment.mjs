// Spec files run in the worker's own realm, so packages and libs are loaded once a worker and not once a file. There is no
// sandbox: a file cleans up after itself, and the runner tells which did not.
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

export default class NativeEnvironment {
  // Jest puts a console and its retry settings here; both are better off where no spec sees them.
  global = {};
  fakeTimers = null;
  moduleMocker = new ModuleMocker(globalThis);

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
  }

  exportConditions() {
    return ['node'];
  }

  getVmContext() {
    return null;
  }
}
