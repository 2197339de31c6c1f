import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually, guardLeaks } from '#testing';
import { closePools, heldTask, openPool, run } from '../testing/threads.js';

afterEach(closePools);
guardLeaks();

describe('aborting', () => {
  it('before the start refuses the task', async () => {
    const pool = openPool();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(run(pool, { do: 'echo', value: 1 }, { signal })).rejects.toMatchObject({
      code: 'TASK_ABORTED',
      cause: { message: 'enough' },
    });
    expect(pool.metrics().queued).toBe(0);
  });

  it('takes a queued task out of the queue', async () => {
    const pool = openPool({ threads: 1 });
    const [busy, queued, abort] = [heldTask(), heldTask(), new AbortController()];
    const first = run(pool, busy.task);
    const second = run(pool, queued.task, { signal: abort.signal });
    await eventually(busy.hasStarted);
    abort.abort();
    await expect(second).rejects.toMatchObject({ code: 'TASK_ABORTED' });
    busy.release();
    expect(await first).toBe('finished');
    expect(queued.hasStarted()).toBe(false);
    expect(pool.metrics()).toMatchObject({ queued: 2, processed: 1, abandoned: 1, waiting: 0 });
  });

  it('ends a task that takes longer than its limit, which begins when a thread has it', async () => {
    const pool = openPool({ threads: 1, abortGraceMs: 60_000 });
    const [busy, slow] = [heldTask(), heldTask()];
    const first = run(pool, busy.task);
    const second = run(pool, slow.task, { limitMs: 30 });
    await eventually(busy.hasStarted);
    const waited = performance.now() + 60;
    await eventually(() => performance.now() > waited);
    busy.release();
    await eventually(slow.hasStarted);
    await expect(second).rejects.toMatchObject({
      code: 'TASK_ABORTED',
      cause: { message: 'it took longer than 30 ms' },
    });
    expect(await first).toBe('finished');
  });

  it('ends a task that looks between its chunks and keeps its thread', async () => {
    const pool = openPool({ threads: 1, abortGraceMs: 60_000 });
    const [held, abort] = [heldTask(), new AbortController()];
    const running = run(pool, held.task, { signal: abort.signal });
    await eventually(held.hasStarted);
    abort.abort(new Error('enough'));
    await expect(running).rejects.toMatchObject({ code: 'TASK_ABORTED', cause: { message: 'enough' } });
    expect(await run(pool, { do: 'go-on' })).toBe('went on');
    expect(pool.metrics()).toMatchObject({ processed: 1, failed: 0, abandoned: 1 });
  });

  it('terminates the thread of a task that never looks, and replaces it', async () => {
    const pool = openPool({ threads: 1, abortGraceMs: 10 });
    const [held, abort] = [heldTask({ cooperative: false }), new AbortController()];
    const running = run(pool, held.task, { signal: abort.signal });
    await eventually(held.hasStarted);
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'TASK_ABORTED' });
    expect(await run(pool, { do: 'echo', value: 1 })).toBe(1);
  });

  it('does not take back what was finished in time', async () => {
    const pool = openPool({ threads: 1, abortGraceMs: 60_000 });
    const [held, abort] = [heldTask({ cooperative: false }), new AbortController()];
    const running = run(pool, held.task, { signal: abort.signal });
    await eventually(held.hasStarted);
    abort.abort();
    held.release();
    expect(await running).toBe('finished');
  });
});

describe('close', () => {
  it('rejects queued and running tasks, refuses new ones and ends the threads', async () => {
    const pool = openPool({ threads: 1, abortGraceMs: 60_000 });
    const held = heldTask();
    const outcomes = Promise.allSettled([run(pool, held.task), run(pool, { do: 'echo', value: 1 })]);
    await eventually(held.hasStarted);
    await pool.stop();
    const refused = { status: 'rejected', reason: { code: 'POOL_STOPPED' } };
    expect(await outcomes).toMatchObject([refused, refused]);
    await expect(run(pool, { do: 'echo', value: 1 })).rejects.toMatchObject({ code: 'POOL_STOPPED' });
    expect(pool.alive).toBe(0);
    expect(pool.metrics()).toMatchObject({ queued: 2, abandoned: 2, active: 0, waiting: 0 });
  });

  it('does not wait for a task that never looks at its abort', async () => {
    const pool = openPool({ threads: 1, abortGraceMs: 10 });
    const held = heldTask({ cooperative: false });
    const running = Promise.allSettled([run(pool, held.task)]);
    await eventually(held.hasStarted);
    await pool.stop();
    expect(await running).toMatchObject([{ status: 'rejected', reason: { code: 'POOL_STOPPED' } }]);
  });

  it('is the same however often it is called, and a start opens the pool again', async () => {
    const pool = openPool();
    await run(pool, { do: 'echo', value: 1 });
    await Promise.all([pool.stop(), pool.stop(), pool.stop()]);
    await pool.start();
    expect(await run(pool, { do: 'echo', value: 2 })).toBe(2);
  });
});
