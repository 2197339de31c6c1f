import { Database } from '#database';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger } from '#service';
import { pipelineRedis, sharedRedis, spawnApp, testDatabase } from '#testing';
import type { Child, DatabaseKind, TestDatabase } from '#testing';

/** Outbox publishers as processes, on a database and a Redis prefix of their own, and the test's own view of both. */
export class PublisherRig {
  private readonly children: Child[] = [];

  private constructor(
    readonly place: TestDatabase,
    readonly database: Database,
    readonly queues: QueueManager,
    private readonly redis: { url: string; prefix: string },
  ) {}

  static async start(kind: DatabaseKind): Promise<PublisherRig> {
    const place = await testDatabase(kind);
    const redis = sharedRedis();
    const parts = { logger: silentLogger, metrics: new Metrics() };
    const database = new Database({ url: place.url, ...parts });
    await database.start();
    const queues = new QueueManager({
      ...(await pipelineRedis(redis, place.url)),
      workerId: 'test',
      ...parts,
    });
    await queues.start();
    return new PublisherRig(place, database, queues, redis);
  }

  publisher(env: NodeJS.ProcessEnv = {}): Child {
    const child = spawnApp('outbox-publisher', {
      DATABASE_URL: this.place.url,
      REDIS_URL: this.redis.url,
      REDIS_PREFIX: this.redis.prefix,
      LOG_FORMAT: 'json',
      ...env,
    });
    this.children.push(child);
    return child;
  }

  async stop(): Promise<void> {
    await Promise.all(this.children.map((child) => child.end('SIGKILL')));
    await this.queues.stop();
    await this.database.stop();
    await this.place.remove();
  }
}
