import { Fences } from '#database';

// A producer with a planted error: its writes are accepted whatever its fence. It is stopped as paused-write is.
Fences.prototype.assertFence = () => Promise.resolve();

await import('./paused-write.process.js');
