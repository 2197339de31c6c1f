import { it } from '@jest/globals';

it('is never reached', () => {});

const missing: string = './no-such-file.js';
await import(missing);
