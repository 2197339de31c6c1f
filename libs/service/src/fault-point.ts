/** `<point>:<nth>:<action>`, such as batcher.after-commit:1:kill. */
export const FAULT = /^([a-z0-9.-]+):([1-9]\d*):(kill|stop|throw|hang|block)$/;
export const FAULT_FORM = '<point>:<nth>:<kill|stop|throw|hang|block>';

/** How long `block` holds the event loop: longer than the job lock and the default lease. */
const BLOCK_MS = 40_000;

let armed: ReturnType<typeof parseFault> | undefined;
let passes = 0;

/** Arms one fault (`FAULT_FORM`); undefined or empty disarms. Tests only. */
export function armFault(spec: string | undefined): void {
  passes = 0;
  armed = spec ? parseFault(spec) : undefined;
}

function parseFault(spec: string) {
  const [, point, nth, action] = FAULT.exec(spec) ?? [];
  if (!point) throw new Error(`fault "${spec}" is not ${FAULT_FORM}, such as batcher.after-commit:1:kill`);
  return { point, nth: Number(nth), action: action as 'kill' | 'stop' | 'throw' | 'hang' | 'block' };
}

/**
 * Names a step boundary. Does nothing in production; when a test armed this point, its nth pass acts.
 * Awaits only when armed, so an unarmed point costs one comparison.
 */
export function faultPoint(name: string): void | Promise<void> {
  if (armed?.point !== name) return;
  if (++passes !== armed.nth) return;
  return act(armed);
}

function act({ point, action }: ReturnType<typeof parseFault>): void | Promise<void> {
  switch (action) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    case 'stop':
      return void process.kill(process.pid, 'SIGSTOP');
    case 'throw':
      throw new Error(`fault injected at ${point}`);
    case 'hang':
      return new Promise(() => {});
    case 'block':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCK_MS);
  }
}
