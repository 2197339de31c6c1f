import { readFileSync } from 'node:fs';

/** The most memory that a process ever had, in megabytes; 0 when it is gone or the system does not tell. */
export function peakMegabytes(pid: number): number {
  try {
    const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return 0;
  }
}
