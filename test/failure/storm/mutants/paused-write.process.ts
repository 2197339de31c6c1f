import { Registrar } from '../../../../apps/producer/src/registrar.js';
import { DatabaseFences, type Lease } from '#locking';

// A producer, sound in itself, that the system stops at the worst moment: after it found that it holds its lease, and
// before the transaction begins that registers the file the storm will remove first. It goes on when it is sent SIGCONT.
const FIRST = 'f0.txt';
let due = false;
let paused = false;

const inner = Registrar.prototype as unknown as {
  write: (batch: readonly { files?: readonly { name: string }[] }[]) => unknown;
};
const { write } = inner;
inner.write = function (batch) {
  due = batch.some(({ files = [] }) => files.some(({ name }) => name === FIRST));
  return write.call(this, batch);
};

// eslint-disable-next-line @typescript-eslint/unbound-method -- called below with its object
const { writeIfFence } = DatabaseFences.prototype;
DatabaseFences.prototype.writeIfFence = function (lease, work) {
  return writeIfFence.call(this, pausing(lease), work) as never;
};

function pausing(lease: Lease): Lease {
  const guard: Lease['guard'] = (later) => lease.guard(() => pauseOnce().then(later));
  return Object.create(lease, { guard: { value: guard } }) as Lease;
}

async function pauseOnce(): Promise<void> {
  if (!due || paused) return;
  paused = true;
  process.kill(process.pid, 'SIGSTOP');
}

await import('../../../../apps/producer/src/main.js');
