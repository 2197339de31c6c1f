import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#testing';
import { down, Lifecycle, silentLogger, type Service } from './index.js';

interface Behaviour {
  failures?: number;
  fatal?: boolean;
  stopFails?: boolean;
  health?: Service['health'];
  onStart?: () => void;
}

function part(name: string, story: string[], behaviour: Behaviour = {}): Service {
  let failures = behaviour.failures ?? 0;
  return {
    name,
    start: async () => {
      behaviour.onStart?.();
      if (failures-- > 0)
        throw Object.assign(new Error(`${name} is away`), behaviour.fatal ? { fatal: true } : {});
      story.push(`+${name}`);
    },
    stop: async () => {
      story.push(`-${name}`);
      if (behaviour.stopFails) throw new Error('stuck');
    },
    ...(behaviour.health && { health: behaviour.health }),
  };
}

const options = { logger: silentLogger, startupTimeoutMs: 0 };

describe('Lifecycle', () => {
  it('starts parts in order and stops them in reverse', async () => {
    const story: string[] = [];
    const lifecycle = new Lifecycle([part('a', story), part('b', story), part('c', story)], options);
    await lifecycle.start();
    await lifecycle.stop();
    expect(story).toEqual(['+a', '+b', '+c', '-c', '-b', '-a']);
  });

  it('holds the last parts back until they are wanted; those before are ready, and only what was started stops', async () => {
    const held: string[] = [];
    const lifecycle = new Lifecycle([part('a', held), part('b', held)], options);
    await lifecycle.start(1);
    expect(lifecycle.state).toBe('held');
    expect(Object.keys(await lifecycle.readiness())).toEqual(['lifecycle', 'a']);
    await lifecycle.stop();
    expect(held).toEqual(['+a', '-a']);

    const wanted: string[] = [];
    const whole = new Lifecycle([part('a', wanted), part('b', wanted)], options);
    await whole.start(1);
    await whole.start();
    expect(whole.state).toBe('started');
    expect(Object.keys(await whole.readiness())).toEqual(['lifecycle', 'a', 'b']);
    await whole.stop();
    expect(wanted).toEqual(['+a', '+b', '-b', '-a']);
  });

  it('is ready only when every part is up', async () => {
    const story: string[] = [];
    let up = false;
    const flaky = part('b', story, { health: () => (up ? { status: 'up' } : down('asleep')) });
    const lifecycle = new Lifecycle([part('a', story), flaky], options);
    expect((await lifecycle.readiness()).lifecycle).toEqual(down('new: waiting for nothing'));
    await lifecycle.start();
    expect((await lifecycle.readiness()).b).toEqual(down('asleep'));
    up = true;
    expect(Object.values(await lifecycle.readiness()).map(({ status }) => status)).toEqual([
      'up',
      'up',
      'up',
    ]);
    await lifecycle.stop();
    expect((await lifecycle.readiness()).lifecycle?.status).toBe('down');
  });

  it('reports a health check that throws as down, with its reason', async () => {
    const broken = part('a', [], {
      health: () => {
        throw new Error('no route');
      },
    });
    const lifecycle = new Lifecycle([broken], options);
    await lifecycle.start();
    expect((await lifecycle.readiness()).a).toEqual(down('no route'));
    await lifecycle.stop();
  });

  it('keeps trying a part whose dependency is away, and stays alive meanwhile', async () => {
    const story: string[] = [];
    const lifecycle = new Lifecycle([part('a', story, { failures: 3 })], options);
    const starting = lifecycle.start();
    expect(lifecycle.liveness().process).toEqual({ status: 'up' });
    expect((await lifecycle.readiness()).lifecycle).toEqual(down('starting: waiting for a'));
    await starting;
    expect(story).toEqual(['+a']);
    await lifecycle.stop();
  });

  it('gives up after the start-up timeout and names the part and the cause', async () => {
    const clock = new FakeClock();
    const away = part('redis', [], { failures: Infinity, onStart: () => clock.advance(600) });
    const lifecycle = new Lifecycle([away], { ...options, startupTimeoutMs: 1_000, clock });
    const error = await lifecycle.start().catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: 'STARTUP_TIMEOUT',
      part: 'redis',
      waitedMs: 1_200,
      cause: { message: 'redis is away' },
    });
    await lifecycle.stop();
  });

  it('does not retry what waiting cannot cure', async () => {
    const lifecycle = new Lifecycle([part('a', [], { failures: 1, fatal: true })], options);
    await expect(lifecycle.start()).rejects.toThrow('a is away');
    await lifecycle.stop();
  });

  it('stops the parts that were touched when stopped during the start, and starts no more', async () => {
    const story: string[] = [];
    const away = part('b', story, { failures: Infinity });
    const lifecycle = new Lifecycle([part('a', story), away, part('c', story)], options);
    const starting = lifecycle.start();
    await Promise.resolve();
    await Promise.resolve();
    await lifecycle.stop();
    await starting;
    expect(story.filter((step) => step.includes('c'))).toEqual([]);
    expect(story.at(-1)).toBe('-a');
  });

  it('stops the others when one fails to stop, once, however often asked', async () => {
    const story: string[] = [];
    const lifecycle = new Lifecycle([part('a', story), part('b', story, { stopFails: true })], options);
    await lifecycle.start();
    await Promise.all([lifecycle.stop(), lifecycle.stop()]);
    await lifecycle.stop();
    expect(story).toEqual(['+a', '+b', '-b', '-a']);
  });
});
