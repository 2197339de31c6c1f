import { sleep, sumOfDone, type Done, type Logger } from '#service';
import type { AppName } from './app-main.js';
import { ChildApp, type Ending } from './child-app.js';
import type { DataDirectory } from './data-directory.js';

const LOOK_MS = 1_000;

type Environment = Readonly<Record<string, string>>;

export interface FleetPlan {
  data: DataDirectory;
  /** What every app is told. */
  env: Environment;
  /** How many of each. */
  apps: readonly AppPlan[];
  logger: Logger;
}

interface AppPlan {
  app: AppName;
  count: number;
  /** Started when it is asked for, not with the others. */
  onDemand?: boolean;
  env?: Environment;
  atStart?: () => Promise<Environment>;
}

/** The apps of a run as child processes that are kept running until stopped. */
export class Fleet {
  private readonly services: { member: ChildApp; app: AppName; onDemand: boolean }[];
  private readonly started = new Set<ChildApp>();
  private readonly tasks: ChildApp[] = [];
  private readonly failures: Promise<Ending>;
  private fail: (ending: Ending) => void = () => {};
  private news = new AbortController();
  private scans = 0;
  private readonly ended = new AbortController();

  constructor(private readonly plan: FleetPlan) {
    this.services = plan.apps.flatMap(({ app, count, onDemand = false, ...more }) =>
      Array.from({ length: count }, (_, index) => ({
        member: this.member(app, count > 1 ? `${app}-${index + 1}` : app, more),
        ...{ app, onDemand },
      })),
    );
    this.failures = new Promise((resolve) => (this.fail = resolve));
  }

  /** Starts what a run always needs, or the app that is asked for; what runs already is left alone. */
  start(asked?: AppName): void {
    const wanted = this.services.filter(({ app, onDemand }) => (asked ? app === asked : !onDemand));
    for (const { member } of wanted) {
      if (this.started.has(member)) continue;
      this.started.add(member);
      void member.keepRunning().then((ending) => ending && this.fail(ending));
    }
  }

  /** Resolves when an app cannot be kept running. */
  get failed(): Promise<Ending> {
    return this.failures;
  }

  get processes(): { label: string; pid: number | undefined }[] {
    return this.members.map(({ label, pid }) => ({ label, pid }));
  }

  /** What the run has done, as far as its processes have told. */
  get done(): Done {
    return sumOfDone(this.members.map(({ done }) => done));
  }

  /** Lets the services work: starts them, and tells who runs already that there may be work. */
  work(): void {
    for (const { member } of this.services) member.say({ work: true });
    this.start();
  }

  /** The app that scans: a role of the worker, if there is one, else a process of its own. */
  scanner(env: Environment): { process: ChildApp; scan: (stop: AbortSignal) => Promise<Ending | undefined> } {
    const worker = this.services.find(({ app }) => app === 'worker')?.member;
    if (worker) return { process: worker, scan: (stop) => this.scanBy(worker, stop) };
    const producer = this.member('producer', 'producer', { env });
    this.tasks.push(producer);
    return { process: producer, scan: () => producer.runToEnd() };
  }

  /** One scan by the worker, or by who is started in its place. How it fails, `failed` tells. */
  private async scanBy(worker: ChildApp, stop: AbortSignal): Promise<undefined> {
    const scan = ++this.scans;
    worker.say({ scan });
    this.start('worker');
    while (!stop.aborted && worker.last.scan !== scan) await this.told(LOOK_MS, stop);
  }

  /** Tells the services that nothing more will be queued: who is started again scans no more. */
  scanned(): void {
    for (const { member } of this.services) member.say({ scan: 0, scanned: true });
  }

  /** Tells the services that nothing is on its way: what they do at their end they may do while the run is proven. */
  drained(): void {
    for (const { member } of this.services) member.say({ drained: true });
  }

  /** Until one of the processes has told something, or so long. */
  async told(limitMs: number, stop: AbortSignal): Promise<void> {
    await sleep(limitMs, AbortSignal.any([this.news.signal, stop]));
  }

  /** What keeps apps from working, in their own words. */
  async notReadyReasons(): Promise<string[]> {
    const all = await Promise.all(this.members.map((member) => member.notReadyReason()));
    return [...new Set(all.flatMap((reason) => reason ?? []))];
  }

  /** Where an app listens, as soon as it does; undefined when everything is stopped before. */
  async portOf(app: AppName, stopped: AbortSignal): Promise<number | undefined> {
    const member = this.members.find(({ label }) => label === app);
    const stop = AbortSignal.any([stopped, this.ended.signal]);
    while (!stop.aborted && member?.last.port === undefined) await this.told(LOOK_MS, stop);
    return member?.last.port;
  }

  async stop(): Promise<void> {
    this.ended.abort();
    await Promise.all(this.members.map((member) => member.stop()));
  }

  private get members(): ChildApp[] {
    return [...this.services.map(({ member }) => member), ...this.tasks];
  }

  private member(
    app: AppName,
    label: string,
    { env, atStart }: Omit<AppPlan, 'app' | 'count' | 'onDemand'>,
  ): ChildApp {
    const { data, logger } = this.plan;
    return new ChildApp({
      app,
      label,
      logger,
      atStart,
      onTold: () => {
        this.news.abort();
        this.news = new AbortController();
      },
      logFile: data.logFile(label),
      folder: data.path,
      env: { ...this.plan.env, PORT: '0', ...env },
    });
  }
}
