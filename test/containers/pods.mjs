// The pods of the laptop's overlay (see pods.ts), played by podman.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command, podman, say, until } from './engine.mjs';

const NETWORK = 'millrace-pods';

export class Pods {
  constructor(root, folder, tree) {
    this.folder = join(folder, 'claims');
    this.file = join(folder, 'pods.yaml');
    const node = ['--import', join(root, 'scripts/typescript.mjs'), join(root, 'test/containers/pods.ts')];
    writeFileSync(this.file, command(process.execPath, [...node, this.folder, tree], { cwd: root }));
    this.tree = tree;
  }

  play() {
    podman('tag', 'millrace', 'millrace:dev');
    podman('network', 'create', NETWORK);
    podman('--runtime', 'runc-without-limits', 'kube', 'play', '--network', NETWORK, this.file);
    say('played the pods of the overlay for a laptop');
  }

  async ended(name) {
    const state = () =>
      JSON.parse(podman('inspect', `${name}-${name === 'first-scan' ? 'producer' : name}`))[0].State;
    await until(`${name} has ended with 0`, () => state().Status === 'exited' && state().ExitCode === 0, 300);
    say(`pod ${name}: ended with 0`);
  }

  async ready(app) {
    const probe = ['exec', `${app}-${app}`, '/nodejs/bin/node', 'deploy/probe.mjs', 'ready'];
    await until(`pod ${app} is ready`, () => isDone(() => podman(...probe)));
    say(`pod ${app}: ready`);
  }

  /** What the command line prints beside the pods. */
  async millrace(...args) {
    const url = readFileSync(join(this.folder, 'secrets/millrace/DATABASE_URL'), 'utf8');
    const volumes = [
      '-v',
      `${this.tree}:/tree:ro`,
      '-v',
      `${join(this.folder, 'millrace-batches')}:/batches:ro`,
    ];
    const run = ['run', '--rm', '--network', NETWORK, '-e', `DATABASE_URL=${url}`, ...volumes, 'millrace'];
    return podman(...run, 'dist/apps/cli/src/main.js', ...args);
  }

  down() {
    isDone(() => podman('kube', 'down', this.file));
    isDone(() => podman('network', 'rm', '-f', NETWORK));
    for (const name of ['scratch', 'tmp']) isDone(() => podman('volume', 'rm', '-f', name));
  }
}

function isDone(work) {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
