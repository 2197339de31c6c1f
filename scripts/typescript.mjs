// `node --import ./scripts/typescript.mjs file.ts` runs TypeScript sources as they are: tests, benches, tools. Types are
// not looked at; that is the compiler's part in `npm run check`.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
process.setSourceMapsEnabled(true);
