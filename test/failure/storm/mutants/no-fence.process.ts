import { DatabaseFences } from '#locking';

// A producer with a planted error: its writes are accepted whatever its fence. It is stopped as paused-write is.
DatabaseFences.prototype.assert = () => Promise.resolve();

await import('./paused-write.process.js');
