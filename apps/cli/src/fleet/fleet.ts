import type { Logger } from '#service';
import { ChildApp, type AppName } from './child-app.js';
import type { DataDirectory } from './data-directory.js';

type Environment = Readonly<Record<string, string>>;

export interface FleetPlan {
  data: DataDirectory;
  /** What every app is told. */
  env: Environment;
  /** How many of each, in the order in which they start; they stop in reverse. */
  apps: readonly { app: AppName; count: number; env?: Environment }[];
  logger: Logger;
}

/** The apps of a run as child processes that are kept running until stopped. */
export class Fleet {
  private readonly services: ChildApp[];
  private readonly tasks: ChildApp[] = [];
  private readonly failures: Promise<string>;
  private fail: (reason: string) => void = () => {};

  constructor(private readonly plan: FleetPlan) {
    this.services = plan.apps.flatMap(({ app, count, env }) =>
      Array.from({ length: count }, (_, index) =>
        this.member(app, count > 1 ? `${app}-${index + 1}` : app, env),
      ),
    );
    this.failures = new Promise((resolve) => (this.fail = resolve));
  }

  /** Starts the services; called once. */
  start(): void {
    for (const service of this.services)
      void service.keepRunning().then((reason) => reason && this.fail(reason));
  }

  /** Resolves with the reason when an app cannot be kept running. */
  get failed(): Promise<string> {
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
    const task = this.member(app, app, env);
    this.tasks.push(task);
    return task;
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }

  private get members(): ChildApp[] {
    return [...this.services, ...this.tasks];
  }

  private member(app: AppName, label: string, env: Environment = {}): ChildApp {
    const { data, logger } = this.plan;
    return new ChildApp({
      app,
      label,
      logger,
      logFile: data.logFile(label),
      env: { ...this.plan.env, PORT: '0', ...env },
    });
  }
}
