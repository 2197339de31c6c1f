import { errorCode } from './errors.js';

/** Exit codes of every program here; the numbers follow sysexits where one fits. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 64,
  unavailable: 69,
  internal: 70,
  forced: 75,
  config: 78,
} as const;

const REFUSALS: ReadonlySet<unknown> = new Set(['PIPELINE_MISMATCH', 'OUTPUT_OWNED']);

/** Whether a process found the work of others where its configuration sends it: `EXIT.config`. */
export function isRefusal(error: unknown): boolean {
  return REFUSALS.has(errorCode(error));
}
