import { Registrar } from '../../../../apps/producer/src/registrar.js';
import { SqliteStore } from '../../../../libs/database/src/sqlite.store.js';

// A producer, sound in itself, that the system stops at the worst moment: after it found that it holds its lease, and
// before the transaction begins that registers the file the storm will remove first. No other of its transactions is open
// then, which would keep everybody else from writing. It goes on when it is sent SIGCONT.
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
const { attempt } = SqliteStore.prototype;
SqliteStore.prototype.attempt = function (work) {
  if (due && !paused) {
    paused = true;
    process.kill(process.pid, 'SIGSTOP');
  }
  return attempt.call(this, work) as never;
};

await import('../../../../apps/producer/src/main.js');
