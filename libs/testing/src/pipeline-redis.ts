import { Database, joinPipeline, pipelinePrefix } from '#database';
import { Metrics, silentLogger } from '#service';

/** The keys of the pipeline that a database holds: where its apps look when they are told this Redis and prefix. */
export async function pipelineRedis(
  { url, prefix = '{millrace}' }: { url: string; prefix?: string },
  databaseUrl: string,
): Promise<{ url: string; prefix: string }> {
  const database = new Database({ url: databaseUrl, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  try {
    const { id } = await joinPipeline(database);
    return { url, prefix: pipelinePrefix(prefix, id) };
  } finally {
    await database.stop();
  }
}
