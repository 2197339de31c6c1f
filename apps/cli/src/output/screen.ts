import { stripVTControlCharacters } from 'node:util';

/**
 * A block of lines that is redrawn in place on a terminal. Elsewhere each block is printed at most once an interval as
 * one plain line, so that a log stays readable.
 */
export class Screen {
  private drawn = 0;
  private lastLine = -Infinity;
  private readonly noted = new Set<string>();

  constructor(
    private readonly stream: NodeJS.WriteStream,
    private readonly plainEveryMs = 5_000,
  ) {}

  get live(): boolean {
    return this.stream.isTTY === true;
  }

  draw(lines: readonly string[], summaryLine: string): void {
    if (this.live) return this.redraw(lines);
    const now = performance.now();
    if (now - this.lastLine < this.plainEveryMs) return;
    this.lastLine = now;
    this.stream.write(`${summaryLine}\n`);
  }

  /** Prints above the block. */
  note(text: string): void {
    this.clear();
    this.stream.write(`${text}\n`);
  }

  /** The same, but a text that was noted before is not repeated. */
  noteOnce(text: string): void {
    if (!this.noted.has(text)) this.note(text);
    this.noted.add(text);
  }

  clear(): void {
    if (!this.live || this.drawn === 0) return;
    this.stream.write(`\u001b[${this.drawn}A\u001b[J`);
    this.drawn = 0;
  }

  private redraw(lines: readonly string[]): void {
    const width = this.stream.columns ?? 80;
    const cut = lines.map((line) => {
      const bare = stripVTControlCharacters(line);
      return bare.length > width ? bare.slice(0, width - 1) : line;
    });
    const up = this.drawn > 0 ? `\u001b[${this.drawn}A` : '';
    this.stream.write(`${up}\u001b[J${cut.join('\n')}\n`);
    this.drawn = cut.length;
  }
}
