import { describe, expect, it } from '@jest/globals';
import { systemClock, silentLogger } from '#service';
import { fileJobId } from '#contracts';
import type { Work } from '#database';
import { FileEnqueuer } from './file-enqueuer.js';
import type { QueueableFile } from './registration/registration.js';
import type { ScanParts } from './scan.js';

const files = (count: number, from = 1, jobId: string | null = null): QueueableFile[] =>
  Array.from({ length: count }, (_, index) => ({
    id: from + index,
    revision: 1,
    path: `/r/${from + index}`,
    pathBytes: null,
    size: 1,
    ctimeNs: '1',
    jobId,
  }));

class Rig {
  readonly log: string[] = [];
  readonly sent: { jobId: string; payload: Record<string, unknown> }[] = [];
  readonly marked: number[] = [];
  readonly stop = new AbortController();
  failures: unknown[] = [];
  verify: () => Promise<void> = async () => void this.log.push('verify');
  send: () => void = () => {};

  readonly enqueuer = new FileEnqueuer({
    parts: {
      queue: {
        enqueue: async (_contract: unknown, items: readonly unknown[]) => {
          this.send();
          this.log.push('send');
          for (const item of items) this.sent.push(item as never);
        },
      },
      lease: { verify: () => this.verify() },
      rows: {
        files: {
          markEnqueued: async (_tx: unknown, marked: readonly QueueableFile[]) => {
            this.log.push('mark');
            this.marked.push(...marked.map(({ id }) => id));
          },
        },
      },
      write: (work: Work<unknown>) => work(undefined as never),
      clock: systemClock,
      logger: silentLogger,
      trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    } as unknown as ScanParts,
    fail: (error) => {
      this.failures.push(error);
      this.stop.abort(error);
    },
    signal: this.stop.signal,
  });
}

const unavailable = (code: string): Error => Object.assign(new Error(code), { code });

describe('file enqueuer', () => {
  it('verifies the lease before each send and marks only what was sent', async () => {
    const rig = new Rig();
    await rig.enqueuer.add(files(1200));
    await rig.enqueuer.drained();
    const count = (step: string, until?: number): number =>
      rig.log.slice(0, until).filter((done) => done === step).length;
    expect([count('verify'), count('send'), count('mark')]).toEqual([3, 3, 1]);
    rig.log.forEach((step, at) => {
      if (step === 'send') expect(count('verify', at)).toBeGreaterThan(count('send', at));
    });
    expect(rig.log.indexOf('mark')).toBeGreaterThan(rig.log.indexOf('send'));
    expect(rig.log.at(-1)).toBe('mark');
    expect(new Set(rig.marked).size).toBe(1200);
    expect(rig.enqueuer.enqueued).toBe(1200);
  });

  it('marks no file whose jobs Redis has not taken yet', async () => {
    const rig = new Rig();
    const unmarkable = (): number[] =>
      rig.marked.filter((id) => !rig.sent.some(({ payload }) => payload.fileId === id));
    let early: number[] = [];
    rig.verify = async () => {
      early = [...early, ...unmarkable()];
    };
    await rig.enqueuer.add(files(3000));
    await rig.enqueuer.drained();
    expect([...early, ...unmarkable()]).toEqual([]);
    expect(rig.marked).toHaveLength(3000);
  });

  it('sends path, size, id and revision under an id of the revision', async () => {
    const rig = new Rig();
    const [file] = files(1) as [QueueableFile];
    await rig.enqueuer.add([{ ...file, revision: 4, pathBytes: 'L3Iv/w==' }]);
    await rig.enqueuer.drained();
    expect(rig.sent[0]?.jobId).toBe(fileJobId({ id: 1, revision: 4 }));
    expect(rig.sent[0]?.payload).toMatchObject({
      filePath: '/r/1',
      fileSize: 1,
      fileId: 1,
      revision: 4,
      pathBytes: 'L3Iv/w==',
    });
  });

  it('sends files that share a job as its list, and never half of one', async () => {
    const rig = new Rig();
    const lists = Array.from({ length: 10 }, (_, n) => files(120, 1 + n * 120, `g-${n}`));
    await rig.enqueuer.add([...lists.flat(), ...files(1, 5000)]);
    await rig.enqueuer.drained();
    expect(rig.sent.map(({ jobId }) => jobId)).toEqual([...lists.map((_, n) => `g-${n}`), 'f-5000-1']);
    expect(rig.sent.slice(0, 10).map(({ payload }) => (payload.files as unknown[]).length)).toEqual(
      lists.map(({ length }) => length),
    );
    expect((rig.sent[0]?.payload.files as unknown[])[0]).toEqual({
      ...{ fileId: 1, revision: 1, filePath: '/r/1', fileSize: 1 },
    });
    expect(rig.enqueuer.enqueued).toBe(1201);
  });

  it.each(['CIRCUIT_OPEN', 'ENQUEUE_FAILED', 'LOCK_UNAVAILABLE'])(
    'tries again the same jobs after %s',
    async (code) => {
      const rig = new Rig();
      let fails = 2;
      rig.send = () => {
        if (fails-- > 0) throw unavailable(code);
      };
      await rig.enqueuer.add(files(3));
      await rig.enqueuer.drained();
      expect(rig.sent.map(({ jobId }) => jobId)).toEqual(files(3).map(fileJobId));
      expect(rig.marked).toEqual([1, 2, 3]);
    },
  );

  it('sends and marks nothing once the lease is lost, and says so', async () => {
    const rig = new Rig();
    rig.verify = async () => {
      throw unavailable('LEASE_LOST');
    };
    await rig.enqueuer.add(files(3));
    await expect(rig.enqueuer.drained()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(rig.sent).toEqual([]);
    expect(rig.marked).toEqual([]);
    expect(rig.failures).toHaveLength(1);
    await expect(rig.enqueuer.add(files(1))).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('does not mark what it was stopped from sending', async () => {
    const rig = new Rig();
    rig.send = () => {
      rig.stop.abort(new Error('stopped'));
      throw unavailable('CIRCUIT_OPEN');
    };
    await rig.enqueuer.add(files(3)).catch(() => {});
    await expect(rig.enqueuer.drained()).rejects.toThrow('stopped');
    expect(rig.marked).toEqual([]);
  });

  it('takes what arrives while the last files are marked', async () => {
    const rig = new Rig();
    await rig.enqueuer.add(files(1));
    for (let turn = 0; turn < 50; turn++) {
      await Promise.resolve();
      await rig.enqueuer.add(files(1, 10 + turn));
    }
    await rig.enqueuer.drained();
    expect(rig.marked).toHaveLength(51);
  });

  it('holds the writer back while it is behind', async () => {
    const rig = new Rig();
    let open!: () => void;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    rig.verify = () => opened;
    await rig.enqueuer.add(files(2000));
    let accepted = false;
    const adding = rig.enqueuer.add(files(1500, 5000)).then(() => {
      accepted = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(accepted).toBe(false);
    open();
    await adding;
    await rig.enqueuer.drained();
    expect(rig.marked).toHaveLength(3500);
  });
});
