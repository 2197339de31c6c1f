import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** The most memory that a process ever had, in megabytes; 0 when it is gone or the system does not tell. */
export function peakMegabytes(pid: number): number {
  return Math.round(Number(statusLine(pid, 'VmHWM').replace(' kB', '')) / 1024);
}

/** Whether a process handles a signal itself. */
export function catches(pid: number, signal: NodeJS.Signals): boolean {
  const mask = BigInt(`0x${statusLine(pid, 'SigCgt') || '0'}`);
  return ((mask >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}

function statusLine(pid: number, name: string): string {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1] ?? '';
  } catch {
    // It has ended, or the system has no such files.
    return '';
  }
}
