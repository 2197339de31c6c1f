/** Ctrl-C and SIGTERM end the command in order; a second Ctrl-C changes nothing, the end is bounded. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  return stop.signal;
}
