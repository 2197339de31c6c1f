// `npm run containers [-- --fresh]`: the image and the compose file, run by a real container engine (podman; base images are
// stand-ins made of Debian's and npm's packages). A tree goes through while a batcher is killed, Redis stopped and PostgreSQL
// restarted; then through a failover of Redis by Sentinels; then through the pods of the laptop's Kubernetes overlay. Each ends
// with `verify` inside the fleet.
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { command, podman, provideEngine, say, until } from '../test/containers/engine.mjs';
import { Fleet } from '../test/containers/fleet.mjs';
import { Pods } from '../test/containers/pods.mjs';
import { basesOf, provideStandIns } from '../test/containers/stand-ins.mjs';
import { ROOT } from './setup.mjs';

const DOCKERFILE = join(ROOT, 'deploy/Dockerfile');
const APPS = ['producer', 'batcher', 'outbox-publisher', 'analyzer', 'dlq-admin'];
const folder = mkdtempSync(join(tmpdir(), 'millrace-containers-'));
// Where others may look, whoever runs this.
command('chmod', ['755', folder]);

try {
  provideEngine();
  provideImages();
  checkLabels();
  measureImage();
  await throughKills();
  await throughFailover();
  await throughPods();
  say('all held');
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function provideImages() {
  const { BUILD, RUNTIME } = basesOf(DOCKERFILE);
  const images = { [BUILD]: 'build', [RUNTIME]: 'runtime', ...Object.fromEntries(composeImages()) };
  provideStandIns(images, { fresh: process.argv.includes('--fresh') });
  say('building the image');
  const commit = command('git', ['rev-parse', 'HEAD'], { cwd: ROOT }).trim();
  // Docker's format: the other knows no health checks.
  podman(
    'build',
    '-q',
    '--format',
    'docker',
    '--network',
    'host',
    '--build-arg',
    `COMMIT=${commit}`,
    ...['-t', 'millrace'],
    '-f',
    DOCKERFILE,
    ROOT,
  );
}

function composeImages() {
  const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
  return [...text.matchAll(/image: ((redis|postgres):\S+)/g)].map(([, image, kind]) => [image, kind]);
}

/** An image says what it is: version, commit, and where its bill of materials lies. */
function checkLabels() {
  const { Labels: labels = {} } = JSON.parse(podman('image', 'inspect', 'millrace'))[0].Config;
  const [version, revision] = ['version', 'revision'].map(
    (name) => labels[`org.opencontainers.image.${name}`],
  );
  const { version: expected } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  if (version !== expected || !/^[0-9a-f]{40}$/.test(revision ?? ''))
    throw new Error(`the image's labels say version ${version}, commit ${revision}`);
  const read = `process.stdout.write(require('node:fs').readFileSync('${labels['millrace.sbom']}'))`;
  const { bomFormat, components } = JSON.parse(
    podman('run', '--rm', '--network', 'none', 'millrace', '-e', read),
  );
  if (bomFormat !== 'CycloneDX') throw new Error(`the bill of materials is ${bomFormat}`);
  say(
    `image: version ${version}, commit ${revision.slice(0, 12)}, a bill of ${components.length} components`,
  );
}

function measureImage() {
  const size = (image) => Number(JSON.parse(podman('image', 'inspect', image))[0].Size);
  const own = size('millrace') - size(basesOf(DOCKERFILE).RUNTIME);
  say(`image: ${(own / 1e6).toFixed(0)} MB above its base`);
  if (own > 200e6) throw new Error('the image is more than 200 MB above its base');
  for (const app of APPS) {
    const started = Date.now();
    const args = ['--rm', '--read-only', '--user', '48123:48123', '--network', 'none'];
    podman(
      'run',
      ...args,
      '-e',
      'REDIS_URL=redis://x',
      '-e',
      'DATABASE_URL=postgres://x/y',
      '-e',
      'TARGET_DIRECTORY=/tmp',
      '-e',
      'OUTPUT_DIRECTORY=/tmp/out',
      'millrace',
      `dist/apps/${app}/src/main.js`,
      '--print-config',
    );
    say(
      `${app}: starts as a stranger on a read-only root (${((Date.now() - started) / 1_000).toFixed(1)} s with the container)`,
    );
  }
}

async function throughKills() {
  const fleet = new Fleet('millrace-test', ROOT, folder, { MILLRACE_TREE: treeOf('kills') });
  await lifeOf(fleet, async () => {
    grow('kills', 'second');
    await fleet.up('--no-deps', '--force-recreate', 'producer');
    const batcher = fleet.container('batcher');
    podman('kill', '-s', 'KILL', batcher);
    say('killed a batcher');
    stopAndStart(fleet, 'redis');
    podman('restart', fleet.container('postgres'));
    say('restarted PostgreSQL');
    podman('start', batcher);
    await fleet.ended('producer');
  });
}

async function throughFailover() {
  const settings = parseEnv(readFileSync(join(ROOT, 'deploy/compose.sentinel.env'), 'utf8'));
  const fleet = new Fleet('millrace-sentinel', ROOT, folder, {
    ...settings,
    MILLRACE_TREE: treeOf('failover'),
    MILLRACE_PORT: '8081',
  });
  await lifeOf(fleet, async () => {
    const asked = ['redis-cli', '-p', '26379', 'sentinel', 'get-master-addr-by-name', 'millrace'];
    const primary = () => podman('exec', fleet.container('sentinel-1'), ...asked).split('\n')[0];
    const before = primary();
    podman('stop', '-t', '1', fleet.container(before.includes('replica') ? 'redis-replica' : 'redis'));
    await until('the Sentinels chose another', () => primary() !== before, 60);
    say(`Redis failed over from ${before} to ${primary()}`);
    grow('failover', 'second');
    await fleet.up('--no-deps', '--force-recreate', 'producer');
    await fleet.ended('producer');
  });
}

/** As far as podman plays what is meant for Kubernetes: pods, probes, settings, users, volumes; no controllers and no policies. */
async function throughPods() {
  const pods = new Pods(ROOT, folder, treeOf('pods'));
  try {
    pods.play();
    for (const name of ['migrate', 'first-scan']) await pods.ended(name);
    for (const app of APPS.slice(1)) await pods.ready(app);
    await proven(pods);
  } finally {
    pods.down();
  }
}

/** Up, the disturbance, the proof, the end. */
async function lifeOf(fleet, disturb) {
  try {
    await fleet.up();
    for (const app of APPS) tellStart(fleet, app);
    await fleet.ended('producer');
    await disturb();
    await proven(fleet);
    await fleet.stop();
  } catch (error) {
    for (const { id, name } of fleet.states())
      say(`${name} said last:\n${podman('logs', '--tail', '30', id)}`);
    throw error;
  } finally {
    fleet.down();
  }
}

/** From the start of its container to the line that says that the app has started, stores and all. */
function tellStart(fleet, app) {
  const id = fleet.container(app);
  const began = Date.parse(JSON.parse(podman('inspect', id))[0].State.StartedAt);
  const line = podman('logs', id)
    .split('\n')
    .find((text) => text.includes(`"msg":"${app} started"`));
  if (line)
    say(
      `${app}: started ${((Date.parse(JSON.parse(line).time) - began) / 1_000).toFixed(1)} s after its container`,
    );
}

async function proven(fleet) {
  let last = '';
  const proof = await until('the fleet is drained and proven', async () => {
    last = await fleet.millrace('verify', '--deep').catch(({ message }) => message);
    return /^PROVEN {2}/m.test(last) && last;
  }).catch((error) => {
    throw new Error(`${error.message}; last seen: ${last}`);
  });
  say(proof.trim().split('\n').slice(-2).join('\n'));
}

function stopAndStart(fleet, name) {
  const container = fleet.container(name);
  podman('stop', '-t', '1', container);
  podman('start', container);
  say(`stopped ${name} and started it again`);
}

function treeOf(name) {
  const tree = join(folder, name);
  for (const part of ['libs', 'docs']) cpSync(join(ROOT, part), join(tree, part), { recursive: true });
  return tree;
}

function grow(name, part) {
  for (const source of ['rxjs', 'typeorm'])
    cpSync(join(ROOT, 'node_modules', source), join(folder, name, part, source), { recursive: true });
}
