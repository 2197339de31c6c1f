/** Severe log lines by kind: what an operator would have seen. */
export type SevereKinds = Map<string, number>;

const MAX_KIND = 120;

export function severeKinds(
  kinds: SevereKinds,
  label: string,
  lines: readonly Record<string, unknown>[],
): SevereKinds {
  for (const { level, msg } of lines) {
    if (level !== 'error' && level !== 'fatal') continue;
    const kind = `${label.replace(/-\d+$/, '')} ${level}: ${String(msg).replaceAll(/\d+/g, 'N').slice(0, MAX_KIND)}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return kinds;
}

/** Nothing may reach the last resort of a process, whatever the weather. */
export function escapedErrors(label: string, lines: readonly Record<string, unknown>[]): string[] {
  return lines
    .filter(({ msg }) => /^(unhandledRejection|uncaughtException)/.test(String(msg)))
    .map((line) => `${label}: ${JSON.stringify(line).slice(0, 2000)}`);
}
