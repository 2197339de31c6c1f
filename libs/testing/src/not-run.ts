/** Thrown by a test that this machine cannot run: the test counts as not run, with the reason, and never as passed. */
export class NotRunHere extends Error {
  override readonly name = 'NotRunHere';
}
