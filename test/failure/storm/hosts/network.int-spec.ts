import { createConnection } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, spawnProgram, type Child } from '#testing';
import { HostNetwork, type BuiltNetwork } from './network.js';

const PORT = 4_000;
const SERVER = `require('net').createServer((s) => s.end('here')).listen(${PORT}, '0.0.0.0', () => console.log('up'))`;

describe('a network of hosts', () => {
  let built: BuiltNetwork;
  let server: Child | undefined;

  beforeEach(async () => {
    built = await HostNetwork.build(['a', 'b']);
    if (built.state === 'refused') return;
    const [command = '', ...args] = [...built.network.on('a'), process.execPath, '-e', SERVER];
    server = spawnProgram(command, args);
    await server.output('up');
  });

  afterEach(async () => {
    await server?.end('SIGKILL');
    if (built.state === 'up') await built.network.remove();
  });

  it('answers until a host is unplugged, and again after; or it is said why there is none', async () => {
    if (built.state === 'refused') return expect(built.reason).toMatch(/^ip /);
    const { network } = built;
    const answers = (): Promise<boolean> => reaches(network.address('a'));
    await eventually(answers);
    await network.unplug('a');
    expect(await answers()).toBe(false);
    await network.plug('a');
    await eventually(answers);
  });

  it('parts two hosts and leaves the others alone', async () => {
    if (built.state === 'refused') return expect(built.reason).toMatch(/^ip /);
    const { network } = built;
    const fromB = async (): Promise<boolean> => {
      const look = `require('net').connect(${PORT}, '${network.address('a')}').setTimeout(1000, () => process.exit(1)).on('data', () => process.exit(0))`;
      const [command = '', ...args] = [...network.on('b'), process.execPath, '-e', look];
      return (await spawnProgram(command, args).exited).code === 0;
    };
    await eventually(fromB);
    await network.part('b', 'a');
    expect(await fromB()).toBe(false);
    expect(await reaches(network.address('a'))).toBe(true);
    await network.rejoin('b', 'a');
    await eventually(fromB);
  });

  it('refuses, with the reason, what the system refuses', async () => {
    const again = await HostNetwork.build(['a name that is too long for a device', 'x/y']);
    expect(again).toMatchObject({ state: 'refused', reason: expect.stringContaining('ip ') });
  });
});

function reaches(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(PORT, host);
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('close', () => resolve(false));
  });
}
