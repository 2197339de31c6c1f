const MAX_RESTARTS = 5;
// One that ran for so long was sound: what ended it is not what ended the ones before.
const SOUND_MS = 60_000;

/** How often an app was started again in a row, now that one ended after so long; undefined when it is not worth another try. */
export function restartsAfter(restarts: number, ranMs: number): number | undefined {
  if (ranMs >= SOUND_MS) return 1;
  return restarts < MAX_RESTARTS ? restarts + 1 : undefined;
}
