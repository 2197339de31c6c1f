// Brings a checkout to the point where it can run: dependencies, build, redis-server and (for tests) Chromium, promtool and PgBouncer.
// Does only what is missing, says what it does, and is silent when there is nothing to do.
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
const INSTALLED = join(ROOT, 'node_modules/.millrace-installed');
const BUILT = join(ROOT, 'dist/.built');
const SOURCES = ['apps', 'libs', 'test/failure/storm'];
const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

const REDIS_CURE = `redis-server was not found and could not be installed here. Provide one in any of these ways:
  1. install it:      apt-get install redis-server   |   brew install redis   |   dnf install redis
  2. put a redis-server binary on PATH (Redis 6.2 or newer)
  3. point at a running Redis: MILLRACE_REDIS_URL=redis://host:6379 (for \`npm start\`; tests need the binary)`;

const CHROMIUM_CURE = `Chromium was not found and could not be installed here. Install it (apt-get install chromium, or
brew install --cask chromium) or set CHROMIUM_PATH to a Chromium or Chrome binary.`;

class SetupError extends Error {}

/** @param {{ tests?: boolean, redis?: boolean }} [need] */
export function setup(need = {}) {
  checkNode();
  installDependencies();
  if (need.tests || (need.redis && !process.env.MILLRACE_REDIS_URL)) provideRedis();
  build(need);
  if (need.tests) provideChromium();
  // The tests that need them say so where they cannot be had.
  if (need.tests && !onPath('promtool'))
    installPackage('promtool', { apt: 'prometheus', brew: 'prometheus' });
  if (need.tests && !onPath('pgbouncer'))
    installPackage('pgbouncer', { apt: 'pgbouncer', brew: 'pgbouncer' });
}

/** Runs `main`, turning a SetupError into one clear message and exit code 1. */
export async function runScript(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`millrace: ${error.message}`);
    process.exitCode = 1;
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    throw new SetupError(
      `Node ${process.versions.node} is too old; install Node 20.19 or newer (24 is recommended).`,
    );
}

export function installDependencies() {
  const wanted = createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .update(`${process.platform}-${process.arch}-${process.versions.modules}`)
    .digest('hex');
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === wanted) return;
  say('installing dependencies (npm ci; native modules may take two minutes to build)');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], 'npm ci failed; see its output above');
  writeFileSync(INSTALLED, wanted);
}

export function build({ tests = false } = {}) {
  const built = existsSync(BUILT) ? JSON.parse(readFileSync(BUILT, 'utf8') || '{}') : {};
  if (built.at >= newestSource() && (built.tests || !tests)) return;
  const at = Date.now(); // sources saved while the bundler runs are newer than this build
  say('building');
  run(
    process.execPath,
    [join(ROOT, 'scripts/build.mjs'), '--warm', ...(tests ? ['--tests'] : [])],
    'the build failed; see the errors above',
  );
  writeFileSync(BUILT, JSON.stringify({ at, tests }));
}

function provideRedis() {
  if (onPath('redis-server')) return;
  installPackage('redis-server', { apt: 'redis-server', brew: 'redis' });
  if (!onPath('redis-server')) throw new SetupError(REDIS_CURE);
}

function provideChromium() {
  if (process.env.CHROMIUM_PATH || CHROMIUM_NAMES.some(onPath)) return;
  installPackage('Chromium', { apt: 'chromium', brew: 'chromium' });
  if (!CHROMIUM_NAMES.some(onPath)) throw new SetupError(CHROMIUM_CURE);
}

function installPackage(what, names) {
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const mayApt = onPath('apt-get') && (sudo.length === 0 || succeeds('sudo', ['-n', 'true']));
  if (mayApt) {
    say(`installing ${what} (apt-get install ${names.apt})`);
    const apt = [...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq'];
    quietly([...apt, 'update']);
    quietly([...apt, 'install', '-y', '--no-install-recommends', names.apt]);
  } else if (onPath('brew')) {
    say(`installing ${what} (brew install ${names.brew})`);
    quietly(['brew', 'install', names.brew]);
  }
}

function newestSource() {
  let newest = Math.max(
    ...['package.json', 'rspack.config.mjs'].map((file) => statSync(join(ROOT, file)).mtimeMs),
  );
  const visit = (directory) => {
    // A folder's own time changes when a file in it is added or deleted.
    newest = Math.max(newest, statSync(directory).mtimeMs);
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (!/spec\.ts$/.test(entry.name)) newest = Math.max(newest, statSync(path).mtimeMs);
    }
  };
  for (const name of SOURCES) if (existsSync(join(ROOT, name))) visit(join(ROOT, name));
  return newest;
}

function onPath(name) {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => existsSync(join(directory, name)));
}

function succeeds(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Runs a package manager, showing its output only when it fails. */
function quietly([command, ...args]) {
  const done = spawnSync(command, args, { encoding: 'utf8' });
  if (done.status !== 0) console.error(`${done.stdout}${done.stderr}`);
}

function run(command, args, failure) {
  const done = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  if (done.status !== 0) throw new SetupError(failure);
}

function say(text) {
  console.error(`millrace: ${text}`);
}
