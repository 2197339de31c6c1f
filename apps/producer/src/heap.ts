import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects the heap when it has doubled. By default that first happens at 170 MB, later at four times what is alive: a long
 * scan would carry 100 MB of dead jobs. V8 reads the growth at every collection, so it may be set while running; the first
 * collection has to be asked for.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=100');
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  setFlagsFromString('--no-expose-gc');
}
