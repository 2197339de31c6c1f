// `npm start -- <directory> [options]`: sets up what is missing, then runs the whole pipeline on the directory.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT, runScript, setup } from './setup.mjs';

await runScript(() => {
  setup({ redis: true });
  const cli = join(ROOT, 'dist/apps/cli/src/main.js');
  const child = spawn(process.execPath, [cli, 'run', ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal signals the whole group; a supervisor signals only this process, so pass it on.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
  });
});
