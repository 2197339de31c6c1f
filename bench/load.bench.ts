import { measureLoad } from './load.js';

await measureLoad('load', 200_000);
