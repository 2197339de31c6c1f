import { measureLoad } from './load.js';

// Only by name: `npm run bench -- million` takes long and needs ten gigabytes.
await measureLoad('million', 1_000_000);
