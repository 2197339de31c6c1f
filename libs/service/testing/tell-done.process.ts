import { hearParent, onSaid, tellDone } from '../src/parent.js';

/** Tells of many files one by one, then of one more when its parent says that the scan is over. */
onSaid('scanned', () => {
  tellDone({ delivered: 1 });
  setTimeout(() => process.disconnect(), 500);
});
hearParent();
for (let file = 0; file < 1_000; file++) tellDone({ batched: 1, tokens: 10 });
