const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
type Tone = keyof typeof CODES;

type Stream = Pick<NodeJS.WriteStream, 'isTTY' | 'hasColors'>;

let allowed = true;

/** For --no-color. */
export function allowColour(yes: boolean): void {
  allowed = yes;
}

/** Text in colour on a terminal that has colours; a terminal has none with NO_COLOR or TERM=dumb, and a pipe never has. */
export function paint(tone: Tone, text: string, stream: Stream = process.stdout): string {
  return allowed && stream.isTTY && stream.hasColors() ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text;
}

const STATES: readonly (readonly [Tone, readonly string[]])[] = [
  ['red', ['open', 'failed', 'firing', 'refused']],
  ['yellow', ['PAUSED', 'pending', 'requeued', 'stopped', 'aborted']],
  ['green', ['resolved', 'analyzed', 'completed', 'ok']],
  ['dim', ['discarded', 'skipped']],
];

/** The cell of a table: a state in the colour that it has everywhere. */
export function paintState(cell: string): string {
  const [tone] = STATES.find(([, states]) => states.includes(cell.trim())) ?? [];
  return tone ? paint(tone, cell) : cell;
}
