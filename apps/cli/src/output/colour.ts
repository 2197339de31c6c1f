const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
export type Tone = keyof typeof CODES;

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

const TONES: Readonly<Record<string, Tone>> = {
  open: 'red',
  failed: 'red',
  firing: 'red',
  refused: 'red',
  PAUSED: 'yellow',
  pending: 'yellow',
  requeued: 'yellow',
  stopped: 'yellow',
  aborted: 'yellow',
  resolved: 'green',
  analyzed: 'green',
  completed: 'green',
  ok: 'green',
  discarded: 'dim',
  skipped: 'dim',
};

/** The cell of a table: a state in the colour that it has everywhere. */
export function paintState(cell: string): string {
  const tone = TONES[cell.trim()];
  return tone ? paint(tone, cell) : cell;
}
