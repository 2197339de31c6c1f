/**
 * One measured figure. `peer` is what another or a limit reached in the same run; `ratio` says how many times better
 * `value` is (for times and sizes that is `peer / value`), and `aim` is the least ratio wanted.
 */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  peer: number;
  ratio: number;
  aim: number;
}

/** Prints a figure as one line of JSON. A missed aim shows as `ok: false`; it is no error. */
export function report(figure: Figure): void {
  const rounded = { value: round(figure.value), peer: round(figure.peer), ratio: round(figure.ratio) };
  console.log(JSON.stringify({ ...figure, ...rounded, ok: figure.ratio >= figure.aim }));
}

const round = (value: number): number => Number(value.toPrecision(4));
