// The compose file, run by docker-compose on podman's socket. Three things are lent to them: the line `name:`, which releases before
// the second do not know, is left out; limits that a sandbox may set stand in a file beside it; and the health checks are asked
// here, since podman leaves their timers to systemd.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { command, podman, say, until } from './engine.mjs';

const LIMITS = { nofile: { soft: 1_024, hard: 4_096 }, nproc: 4_096 };

export class Fleet {
  /** `settings`: what the compose file reads from its environment, COMPOSE_PROFILES among it. */
  constructor(project, root, folder, settings) {
    this.project = project;
    this.root = root;
    this.socket = join(folder, 'podman.sock');
    this.file = join(folder, 'docker-compose.yml');
    this.env = { ...process.env, ...settings, DOCKER_HOST: `unix://${this.socket}` };
    const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
    writeFileSync(this.file, text.replace(/^name: .*$/m, ''));
    this.limits = join(folder, 'limits.yml');
    const { services } = load(text, { schema: CORE_SCHEMA.withTags(mergeTag) });
    const limited = Object.keys(services).map((name) => [name, { ulimits: LIMITS }]);
    writeFileSync(this.limits, JSON.stringify({ services: Object.fromEntries(limited) }));
  }

  /** Starts all services, each once the conditions that it depends on hold. */
  async up(...services) {
    await this.serve();
    const asked = setInterval(() => this.askHealth(), 3_000);
    try {
      await this.compose('up', '-d', '--no-build', ...services);
      await until('every container is healthy or has ended', () => this.states().every(isFine), 300);
    } finally {
      clearInterval(asked);
    }
    for (const { name, health, code } of this.states()) say(`${name}: ${health ?? `ended with ${code}`}`);
  }

  async serve() {
    if (this.service) return;
    this.service = spawn('podman', ['system', 'service', '-t', '0', `unix://${this.socket}`], {
      stdio: 'ignore',
    });
    await until('podman serves its socket', () => existsSync(this.socket), 20);
  }

  async compose(...args) {
    const all = [
      '-p',
      this.project,
      '--project-directory',
      this.root,
      '-f',
      this.file,
      '-f',
      this.limits,
      ...args,
    ];
    const child = spawn('docker-compose', all, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    let printed = '';
    child.stdout.on('data', (data) => (printed += data));
    child.stderr.on('data', (data) => (said += data));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`docker-compose ${args.join(' ')} ended with ${code}: ${said}${printed}`);
    return printed;
  }

  askHealth() {
    for (const { id, running, health } of this.states())
      if (running && health !== undefined) spawn('podman', ['healthcheck', 'run', id], { stdio: 'ignore' });
  }

  /** What the engine says of every container of the fleet. */
  states() {
    return this.ids()
      .flatMap(inspected)
      .map(({ Id, Name, State, Config }) => ({
        id: Id,
        name: Name,
        service: Config.Labels['com.docker.compose.service'],
        running: State.Running,
        code: State.ExitCode,
        health:
          Config.Healthcheck && Config.Healthcheck.Test?.[0] !== 'NONE' ? State.Health?.Status : undefined,
      }));
  }

  ids() {
    const ours = `label=com.docker.compose.project=${this.project}`;
    return podman('ps', '-aq', '--filter', ours).split('\n').filter(Boolean);
  }

  container(service) {
    const found = this.states().find((one) => one.service === service);
    if (!found) throw new Error(`${service} has no container`);
    return found.id;
  }

  /** Waits for the end of a service that ends by itself. */
  async ended(service) {
    const state = () => this.states().find((one) => one.service === service);
    await until(`${service} has ended`, () => !state().running, 600);
    if (state().code !== 0)
      throw new Error(`${service} ended with ${state().code}: ${podman('logs', '--tail', '40', state().id)}`);
    say(`${service}: ended with 0`);
  }

  /** What the command line of the fleet prints. */
  async millrace(...args) {
    const name = `${this.project}-millrace`;
    await this.compose('run', '-d', '--no-deps', '--name', name, 'millrace', ...args);
    try {
      const code = podman('wait', name).trim();
      const said = podman('logs', name);
      if (code !== '0') throw new Error(`millrace ${args.join(' ')} ended with ${code}: ${said}`);
      return said;
    } finally {
      podman('rm', '-f', name);
    }
  }

  /** Stops all, apps before what they need; whatever had to be killed after its grace period, or failed, is told. */
  async stop() {
    const started = Date.now();
    await this.compose('stop');
    const bad = this.states().filter(({ code }) => code !== 0);
    if (bad.length > 0)
      throw new Error(`not ended with 0: ${bad.map(({ name, code }) => `${name} ${code}`).join(', ')}`);
    say(`all stopped with 0 in ${((Date.now() - started) / 1_000).toFixed(1)} s`);
  }

  down() {
    for (const id of this.ids()) podman('rm', '-f', '-v', id);
    this.service?.kill();
    for (const kind of ['volume', 'network'])
      for (const one of podman(kind, 'ls', '-q').split('\n'))
        if (one.startsWith(`${this.project}_`)) command('podman', [kind, 'rm', '-f', one]);
  }
}

/** Nothing when it was removed since it was listed. */
function inspected(id) {
  try {
    return JSON.parse(podman('inspect', id));
  } catch (error) {
    if (error.message.includes('no such object')) return [];
    throw error;
  }
}

function isFine({ running, health, code }) {
  if (!running) return code === 0;
  return health === undefined || health === 'healthy';
}
