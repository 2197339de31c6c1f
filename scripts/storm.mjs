// `npm run storm -- --help`: sets up, then runs storms of faults over the composed system.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT, runScript, setup } from './setup.mjs';

await runScript(async () => {
  setup({ tests: true });
  const main = ['--import', join(ROOT, 'scripts/typescript.mjs'), join(ROOT, 'test/failure/storm/main.ts')];
  // A group of its own: Ctrl-C reaches the driver, which ends its processes in order, and not each of them at once.
  const child = spawn(process.execPath, [...main, ...process.argv.slice(2)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill('SIGINT'));
  const [code] = await once(child, 'exit');
  process.exitCode = code ?? 1;
});
