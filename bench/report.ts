/**
 * One measured figure. `peer` is what another or a limit reached in the same run; `ratio` says how many times better
 * `value` is (for times and sizes that is `peer / value`), and `aim` is the least ratio wanted. A figure without an aim
 * is told for information.
 */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  peer?: number;
  ratio?: number;
  aim?: number;
}

/** Prints a figure as one line of JSON. A missed aim shows as `ok: false`; it is no error. */
export function report({ name, value, unit, peer, ratio, aim }: Figure): void {
  const ok = aim === undefined || (ratio ?? 0) >= aim;
  console.log(
    JSON.stringify({ name, value: round(value), unit, peer: round(peer), ratio: round(ratio), aim, ok }),
  );
}

function round(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.toPrecision(4));
}
