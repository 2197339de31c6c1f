import { sleep, type Logger } from '#service';
import type { AppName } from './app-main.js';
import { ChildApp, type Ending } from './child-app.js';
import type { DataDirectory } from './data-directory.js';

const LOOK_MS = 50;

type Environment = Readonly<Record<string, string>>;

export interface FleetPlan {
  data: DataDirectory;
  /** What every app is told. */
  env: Environment;
  /** How many of each, in the order in which they start; they stop in reverse. */
  apps: readonly AppPlan[];
  logger: Logger;
}

interface AppPlan {
  app: AppName;
  count: number;
  env?: Environment;
  atStart?: () => Promise<Environment>;
}

/** The apps of a run as child processes that are kept running until stopped. */
export class Fleet {
  private readonly services: ChildApp[];
  private readonly tasks: ChildApp[] = [];
  private readonly failures: Promise<Ending>;
  private fail: (ending: Ending) => void = () => {};

  constructor(private readonly plan: FleetPlan) {
    this.services = plan.apps.flatMap(({ app, count, ...more }) =>
      Array.from({ length: count }, (_, index) =>
        this.member(app, count > 1 ? `${app}-${index + 1}` : app, more),
      ),
    );
    this.failures = new Promise((resolve) => (this.fail = resolve));
  }

  /** Starts the services; called once. */
  start(): void {
    for (const service of this.services)
      void service.keepRunning().then((ending) => ending && this.fail(ending));
  }

  /** Resolves when an app cannot be kept running. */
  get failed(): Promise<Ending> {
    return this.failures;
  }

  get processes(): { label: string; pid: number | undefined }[] {
    return this.members.map(({ label, pid }) => ({ label, pid }));
  }

  /** What keeps apps from working, in their own words. */
  async complaints(): Promise<string[]> {
    const all = await Promise.all(this.members.map((member) => member.complaint()));
    return [...new Set(all.flatMap((complaint) => complaint ?? []))];
  }

  /** One run of an app that ends by itself. */
  task(app: AppName, env: Environment): ChildApp {
    const task = this.member(app, app, { env });
    this.tasks.push(task);
    return task;
  }

  /** Where an app listens, as soon as it does. */
  async portOf(app: AppName, stop: AbortSignal): Promise<number | undefined> {
    const member = this.members.find(({ label }) => label === app);
    while (!stop.aborted && member?.last.port === undefined) await sleep(LOOK_MS, stop);
    return member?.last.port;
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }

  private get members(): ChildApp[] {
    return [...this.services, ...this.tasks];
  }

  private member(app: AppName, label: string, { env, atStart }: Omit<AppPlan, 'app' | 'count'>): ChildApp {
    const { data, logger } = this.plan;
    return new ChildApp({
      app,
      label,
      logger,
      atStart,
      logFile: data.logFile(label),
      folder: data.path,
      env: { ...this.plan.env, PORT: '0', ...env },
    });
  }
}
