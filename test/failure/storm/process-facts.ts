import { readFileSync } from 'node:fs';

/** The most memory that a process ever had, in megabytes; 0 when it is gone or the system does not tell. */
export function peakMegabytes(pid: number): number {
  return Math.round(Number(statusLine(pid, 'VmHWM').replace(' kB', '')) / 1024);
}

/** Whether a process was stopped by SIGSTOP. */
export function isStopped(pid: number): boolean {
  return statusLine(pid, 'State').startsWith('T');
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
