import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Child } from '#testing';
import { escapedErrors, severeKinds, type SevereKinds } from './log-notes.js';

/** What the processes of a storm wrote: severe lines counted, escaped errors as findings, and all of it if wanted. */
export class LogBook {
  private readonly severe: SevereKinds = new Map();
  readonly escaped: string[] = [];

  constructor(private readonly folder?: string) {
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
  }

  /** Takes in the log of a process that has ended. */
  keep(label: string, child: Child): void {
    const lines = child.logs();
    severeKinds(this.severe, label, lines);
    this.escaped.push(...escapedErrors(label, lines));
    if (this.folder !== undefined)
      appendFileSync(
        join(this.folder, `${label}.log`),
        `--- pid ${child.pid}\n${child.stdout}${child.stderr}`,
      );
  }

  get notes(): string[] {
    return [...this.severe].sort(([, a], [, b]) => b - a).map(([kind, count]) => `${count} × ${kind}`);
  }
}
