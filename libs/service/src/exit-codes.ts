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
