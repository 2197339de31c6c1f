import { afterEach, describe, expect, it } from '@jest/globals';
import { BullModule, BullRegistrar, getQueueToken, Processor } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { QUEUE } from '#contracts';
import { Metrics, silentLogger } from '#service';
import { eventually, freePort, guardLeaks, sharedRedis } from '#testing';
import { NOTE, notes, type Note } from '../testing/managers.js';
import {
  done,
  JobProcessor,
  QueueManager,
  QueueManagerModule,
  type JobOutcome,
  type JobQueue,
  type QueueWorkerOptions,
} from './index.js';

const CONFIGURED = 'notes-of-site-b';

@Processor('notes')
class NotesProcessor extends JobProcessor<Note> {
  readonly name = 'notes';
  readonly seen: string[] = [];
  hold: Promise<void> = Promise.resolve();
  protected readonly contract = NOTE;

  protected override workerOptions(): QueueWorkerOptions {
    return { concurrency: 7, drainMs: 10 };
  }

  async process({ text }: Note): Promise<JobOutcome> {
    this.seen.push(text);
    await this.hold;
    return done;
  }
}

@Module({
  imports: [BullModule.registerQueueAsync({ name: 'notes', useFactory: () => ({ name: CONFIGURED }) })],
  providers: [NotesProcessor],
})
class NotesModule {}

describe('a processor in a Nest app', () => {
  let module: TestingModule;
  let queues: QueueManager;
  let processor: NotesProcessor;

  async function create(redis: { url: string; prefix?: string }, deadLetterQueue?: string): Promise<void> {
    const options = {
      ...redis,
      deadLetterQueue,
      workerId: 'w',
      logger: silentLogger,
      metrics: new Metrics(),
    };
    module = await Test.createTestingModule({
      imports: [QueueManagerModule.fromConfig(), NotesModule],
    })
      .overrideProvider(QueueManager)
      .useFactory({
        inject: [BullRegistrar],
        factory: (registrar: BullRegistrar) => new QueueManager(options, registrar),
      })
      .compile();
    await module.init();
    queues = module.get(QueueManager);
    processor = module.get(NotesProcessor);
  }
  const queue = (token: string): JobQueue => module.get<JobQueue>(getQueueToken(token), { strict: false });
  afterEach(async () => {
    await queues.closeConnections();
    await module.close();
  });
  // Hooks run in the order they are written: the guard looks last.
  guardLeaks();

  it('works the configured queue, not the one its token names, with its own contract and options', async () => {
    await create(sharedRedis());
    await queues.start();
    await processor.start();
    let release = (): void => {};
    processor.hold = new Promise((resolve) => (release = resolve));
    await queue('notes').enqueue(NOTE, notes(10));
    await eventually(() => expect(processor.seen).toHaveLength(7));
    expect(await queues.getQueue(CONFIGURED).counts()).toMatchObject({ active: 7, waiting: 3 });
    release();
    await eventually(() => expect(processor.seen).toHaveLength(10));
    await queues.getQueue(CONFIGURED).add('note', { text: 7 }, { jobId: 'bad' });
    await eventually(async () => expect(await queues.deadLetters.count()).toBe(1));
  });

  it('shares the manager: one instance a queue, the dead-letter queue under its configured name', async () => {
    await create(sharedRedis(), 'graveyard');
    expect(queue('notes')).toBe(queues.getQueue(CONFIGURED));
    expect(queue(QUEUE.deadLetter)).toBe(queues.getQueue('graveyard'));
  });

  it('has health and liveness before Redis is there, and no worker', async () => {
    await create({ url: `redis://127.0.0.1:${await freePort()}` });
    expect(processor.health()).toMatchObject({ status: 'down' });
    expect(processor.liveness()).toEqual({ status: 'up' });
    await expect(queues.start()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(processor.health()).toMatchObject({ status: 'down' });
    await processor.stop();
  });

  it('hands back what does not end in time when the app stops, and is not ready afterwards', async () => {
    await create(sharedRedis());
    await queues.start();
    await processor.start();
    expect(processor.health()).toEqual({ status: 'up' });
    let release = (): void => {};
    processor.hold = new Promise((resolve) => (release = resolve));
    await queue('notes').enqueue(NOTE, notes(2));
    await eventually(() => expect(processor.seen).toHaveLength(2));
    await processor.stop();
    expect(await queue('notes').counts()).toMatchObject({ active: 0, waiting: 2 });
    expect(processor.health()).toMatchObject({ status: 'down' });
    release();
  });
});
