// `npm run bench -- <name>`: sets up, then runs bench/<name>.bench.ts as built. Without a name it lists them.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runScript, setup } from './setup.mjs';

await runScript(() => {
  const [name, ...args] = process.argv.slice(2);
  setup({ tests: true });
  const known = readdirSync(join(ROOT, 'bench')).flatMap((file) => /^(.+)\.bench\.ts$/.exec(file)?.[1] ?? []);
  if (!name || !known.includes(name)) {
    console.error(`Usage: npm run bench -- <name>. Known: ${known.join(', ') || 'none yet'}`);
    process.exitCode = name ? 64 : 0;
    return;
  }
  const file = join(ROOT, `dist/bench/${name}.bench.js`);
  if (!existsSync(file)) throw new Error(`${file} is missing from the build`);
  process.exitCode =
    spawnSync(process.execPath, ['--expose-gc', file, ...args], { stdio: 'inherit' }).status ?? 1;
});
