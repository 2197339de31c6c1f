/** What an app tells the process that started it. A log would not do: its level and form are the user's. */
export interface Told {
  /** Where its probes and pages are. */
  port?: number;
  /** Why it ends. */
  failed?: string;
  /** What a task that came to its end has done. */
  summary?: Readonly<Record<string, unknown>>;
}

/** Tells the parent, if one holds a channel to this process. */
export function tellParent(told: Told): void {
  if (process.connected) process.send?.(told, undefined, undefined, () => {});
}
