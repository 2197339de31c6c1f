import { spawnProgram } from '#testing';

export type BuiltNetwork = { state: 'up'; network: HostNetwork } | { state: 'refused'; reason: string };

const DEVICE = 'eth0';
// An address of no card: what is sent there is gone without a word.
const NOBODY = '02:00:00:00:00:01';

class IpError extends Error {}

let built = 0;

/**
 * Hosts on one machine: a network namespace each, with an address of its own, joined by a bridge that this process stands
 * on too. Links can be taken away, pairs parted and hosts made slow, without a word to those who talk over them.
 */
export class HostNetwork {
  private constructor(
    private readonly id: string,
    private readonly subnet: string,
    private readonly names: readonly string[],
  ) {}

  /** Refused, with the reason, where the system does not permit network namespaces. */
  static async build(names: readonly string[]): Promise<BuiltNetwork> {
    const number = (process.pid * 7 + built++) % 65_536;
    const subnet = `10.${192 + (number >> 14)}.${(number >> 6) & 255}`;
    const network = new HostNetwork(`mr${number}`, subnet, names);
    try {
      await network.join();
      return { state: 'up', network };
    } catch (error) {
      await network.remove();
      if (!(error instanceof IpError)) throw error;
      return { state: 'refused', reason: error.message };
    }
  }

  get hosts(): readonly string[] {
    return this.names;
  }

  /** Where this process can be reached by the hosts. */
  get outside(): string {
    return `${this.subnet}.1`;
  }

  address(host: string): string {
    return `${this.subnet}.${this.indexOf(host) + 2}`;
  }

  /** What stands before a command that runs on the host. The process keeps its id. */
  on(host: string): readonly string[] {
    return ['ip', 'netns', 'exec', this.space(host)];
  }

  /** Takes the host's cable away. */
  async unplug(host: string): Promise<void> {
    await ip('link', 'set', this.cable(host), 'down');
  }

  async plug(host: string): Promise<void> {
    await ip('link', 'set', this.cable(host), 'up');
  }

  /** What `from` sends to `to` is lost; the other way is as before. */
  async part(from: string, to: string): Promise<void> {
    await this.neighbour(from, 'replace', to, ['lladdr', NOBODY, 'nud', 'permanent']);
  }

  async rejoin(from: string, to: string): Promise<void> {
    await this.neighbour(from, 'del', to, []);
  }

  /** Lets so much through that a host sends, and makes the rest wait or drops it. */
  async throttle(host: string, kilobits: number): Promise<void> {
    const bucket = ['tbf', 'rate', `${kilobits}kbit`, 'burst', '8kb', 'latency', '500ms'];
    await run('tc', ['-n', this.space(host), 'qdisc', 'replace', 'dev', DEVICE, 'root', ...bucket]);
  }

  async unthrottle(host: string): Promise<void> {
    await run('tc', ['-n', this.space(host), 'qdisc', 'del', 'dev', DEVICE, 'root']);
  }

  /** Everything is gone with its namespace and the bridge; what is not there any more is no matter. */
  async remove(): Promise<void> {
    for (const host of this.names) await ip('netns', 'del', this.space(host)).catch(() => {});
    await ip('link', 'del', this.bridge).catch(() => {});
  }

  private get bridge(): string {
    return `${this.id}br`;
  }

  private async join(): Promise<void> {
    await ip('link', 'add', this.bridge, 'type', 'bridge');
    await ip('addr', 'add', `${this.outside}/24`, 'dev', this.bridge);
    await ip('link', 'set', this.bridge, 'up');
    for (const host of this.names) await this.add(host);
  }

  private async add(host: string): Promise<void> {
    const [space, cable] = [this.space(host), this.cable(host)];
    await ip('netns', 'add', space);
    await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', DEVICE, 'netns', space);
    await ip('link', 'set', cable, 'master', this.bridge, 'up');
    await ip('-n', space, 'addr', 'add', `${this.address(host)}/24`, 'dev', DEVICE);
    for (const device of ['lo', DEVICE]) await ip('-n', space, 'link', 'set', device, 'up');
  }

  private neighbour(at: string, verb: string, to: string, more: readonly string[]): Promise<void> {
    return ip('-n', this.space(at), 'neigh', verb, this.address(to), 'dev', DEVICE, ...more);
  }

  private space(host: string): string {
    return `${this.id}-${host}`;
  }

  private cable(host: string): string {
    return `${this.id}v${this.indexOf(host)}`;
  }

  private indexOf(host: string): number {
    const index = this.names.indexOf(host);
    if (index < 0) throw new Error(`there is no host ${host}; there are ${this.names.join(', ')}`);
    return index;
  }
}

function ip(...args: string[]): Promise<void> {
  return run('ip', args);
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawnProgram(command, args);
  // A program that is not there ends with an error instead of a code.
  const { code } = await child.exited.catch((error: Error) => ({ code: error.message }));
  if (code !== 0) throw new IpError(`${command} ${args.join(' ')}: ${child.stderr.trim() || code}`);
}
