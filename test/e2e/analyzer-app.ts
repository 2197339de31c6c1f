import type { INestApplication } from '@nestjs/common';
import { loadConfig } from '#config';
import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule } from '#queue-manager';
import { createApp, createLogger, Metrics, type Lifecycle } from '#service';
import { eventually } from '#testing';
import { config } from '../../apps/analyzer/src/analyzer.config.js';
import { ANALYZER_PARTS, AnalyzerModule } from '../../apps/analyzer/src/analyzer.module.js';
import { DESTINATION } from '../../apps/analyzer/src/destination.js';

let started = 0;

/** An analyzer in the process of the test: for what no kill and no exit code is needed, without the wait for a boot. */
export class AnalyzerApp {
  private constructor(
    private readonly app: INestApplication,
    private readonly lifecycle: Lifecycle,
    private readonly lines: string[],
  ) {}

  static async start(env: Record<string, string>): Promise<AnalyzerApp> {
    const lines: string[] = [];
    const identity = { app: 'analyzer', workerId: `analyzer-${++started}` };
    const stream = { write: (line: string) => void lines.push(line) };
    const logger = createLogger({ service: 'analyzer', workerId: identity.workerId, level: 'info', stream });
    const definition = {
      config,
      imports: [DatabaseModule.fromConfig(DESTINATION), QueueManagerModule.fromConfig(), AnalyzerModule],
      services: [Database, Pipeline, QueueManager, ...ANALYZER_PARTS],
    };
    const { app, lifecycle } = await createApp(definition, loadConfig(config, { env, cwd: '/nonexistent' }), {
      logger,
      metrics: new Metrics(),
      identity,
    });
    await app.init();
    await lifecycle.start();
    return new AnalyzerApp(app, lifecycle, lines);
  }

  /** Waits until it has logged this. */
  async output(text: string): Promise<void> {
    await eventually(() => {
      if (!this.lines.some((line) => line.includes(text))) throw new Error(`${text}: not logged yet`);
    });
  }

  async stop(): Promise<void> {
    await this.lifecycle.stop();
    await this.app.close();
  }
}
