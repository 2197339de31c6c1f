// podman as these tests use it: found or installed, with settings that work where neither systemd nor crun is at hand.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PACKAGES = [
  ...['podman', 'runc', 'containernetworking-plugins', 'golang-github-containernetworking-plugin-dnsname'],
  ...['iptables', 'dnsmasq-base', 'docker-compose', 'debootstrap', 'catatonit'],
];
// podman asks for limits of a pod that a sandbox may not set, and cannot be told others.
const RUNC = `#!/bin/sh
for word in "$@"; do
  case $last in --bundle) file=$word/config.json ;; --process) file=$word ;; *) file= ;; esac
  [ -n "$file" ] && sed -i 's/"rlimits":\\[[^]]*\\]/"rlimits":[]/' "$file"
  last=$word
done
exec runc "$@"
`;
const settingsWith = (runc) => `[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[engine.runtimes]
runc-without-limits = ["${runc}"]
[network]
network_backend = "cni"
`;

/** The engine's settings for this process and its children; podman and its companions are installed where that may be done. */
export function provideEngine() {
  if (!found('podman') || !found('docker-compose') || !found('debootstrap') || !found('catatonit')) install();
  const folder = mkdtempSync(join(tmpdir(), 'millrace-engine-'));
  const [settings, runc] = ['containers.conf', 'runc'].map((name) => join(folder, name));
  writeFileSync(runc, RUNC, { mode: 0o755 });
  writeFileSync(settings, settingsWith(runc));
  process.env.CONTAINERS_CONF = settings;
  say(podman('--version').trim());
}

/** What podman printed; an error with all that it said otherwise. */
export function podman(...args) {
  return command('podman', args);
}

export function command(name, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(name, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    ...options,
  });
  if (status === 0) return stdout ?? '';
  throw new Error(`${name} ${args.join(' ')} ended with ${status ?? error}: ${stdout ?? ''}${stderr ?? ''}`);
}

export function say(text) {
  console.error(`containers: ${text}`);
}

/** Waits until `holds` is true, looking once a second; says what it waited for when it never is. */
export async function until(what, holds, seconds = 180) {
  const end = Date.now() + seconds * 1_000;
  for (;;) {
    const result = await holds();
    if (result) return result;
    if (Date.now() > end) throw new Error(`not in ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

function found(name) {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
}

function install() {
  if (process.getuid?.() !== 0 || !found('apt-get'))
    throw new Error(
      `podman, docker-compose and debootstrap are needed: apt-get install ${PACKAGES.join(' ')}`,
    );
  say('installing podman');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  command('apt-get', ['update', '-qq'], { env });
  command('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...PACKAGES], { env });
}
