import { types } from 'node:util';

/** The process has run out of something for the moment: waiting cures it, skipping would lose files. */
const TRANSIENT = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EINTR', 'ENOMEM', 'EBUSY']);
const RETRY_MS = [10, 50, 200, 500, 1000, 2000];

/** What an error number says about one entry of the tree. */
export function faultCode(error: unknown): string {
  const code = types.isNativeError(error) && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'EUNKNOWN';
}

export function isTransient(error: unknown): boolean {
  return TRANSIENT.has(faultCode(error));
}

export function isGone(code: string): boolean {
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** An error that is recorded on the row it belongs to; everything else is a fault of ours or of the machine. */
export function isRecordable(error: unknown): error is NodeJS.ErrnoException {
  return types.isNativeError(error) && 'code' in error && 'syscall' in error && !isTransient(error);
}

export function fault(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code, syscall: 'scan' });
}

/** Runs a synchronous call again while it fails for want of descriptors or memory. For threads only: it blocks. */
export function patiently<T>(call: () => T, pause: (ms: number) => void = block): T {
  for (const wait of RETRY_MS) {
    try {
      return call();
    } catch (error) {
      if (!isTransient(error)) throw error;
      pause(wait);
    }
  }
  return call();
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
