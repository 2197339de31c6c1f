import { sleep, sumOfDone, type Done } from '#service';
import { ChildApp, type AppName, type AppPlan, type Ending, type Environment } from './child-app.js';
import type { DataDirectory } from './data-directory.js';

const LOOK_MS = 1_000;
const WAITING =
  'Waiting: another scan of this directory is in progress, or was killed less than its lease ago.';

export interface FleetPlan {
  data: DataDirectory;
  /** What every app is told. */
  env: Environment;
  /** What a scan is told. */
  scan?: Environment;
  apps: readonly AppPlan[];
}

/** The apps of a run as child processes that are kept running until stopped. */
export class Fleet {
  private readonly children: ChildApp[] = [];
  private readonly started = new Set<ChildApp>();
  private fail: (ending: Ending) => void = () => {};
  /** Resolves when an app cannot be kept running. */
  readonly failed = new Promise<Ending>((resolve) => (this.fail = resolve));
  private news = new AbortController();
  private scans = 0;
  private readonly ended = new AbortController();

  constructor(private readonly plan: FleetPlan) {
    for (const app of plan.apps) this.add(app);
  }

  /** Starts what a run always needs, or the app that is asked for; what runs already is left alone. */
  start(asked?: AppName): void {
    for (const child of this.children) {
      const { app, onDemand } = child.plan;
      if (this.started.has(child) || (asked ? app !== asked : onDemand)) continue;
      this.started.add(child);
      void child.run().then((ending) => ending && this.fail(ending));
    }
  }

  /** What the run has done, as far as its processes have told. */
  get done(): Done {
    return sumOfDone(this.children.map(({ done }) => done));
  }

  /** Lets the services work: starts them, and tells who runs already that there may be work. */
  work(): void {
    for (const child of this.children) child.say({ work: true });
    this.start();
  }

  /**
   * Scans until a scan of our own has seen the whole tree as it is now; one that dies is started again, like any service.
   * Returns how it failed, if it did, and says what a person should know of a scan that does not simply run.
   * - One that ended without a summary did not scan: another holds the lease, or one that was killed held it a moment ago.
   * - One that went on from an interrupted scan knows nothing of what changed behind it.
   */
  async scan(stop: AbortSignal, say: (line: string) => void): Promise<Ending | undefined> {
    const worker = this.childOf('worker');
    const scanner = worker ?? this.add({ app: 'producer', env: this.plan.scan, onDemand: true });
    scanner.onRestart = ({ reason }) => say(`The scan is started again: ${reason}`);
    for (let waiting = false, resumed = true; resumed;) {
      const { summary: before } = scanner.last;
      const failed = await (worker ? this.scanBy(worker, stop) : scanner.run({ task: true }));
      if (failed || stop.aborted) return failed;
      const { summary } = scanner.last;
      if (summary && summary !== before) resumed = Boolean(summary.resumed);
      else {
        if (!waiting) say(WAITING);
        waiting = true;
        await sleep(LOOK_MS, stop);
      }
    }
    scanner.onRestart = () => {};
    // Nothing more will be queued: who is started again scans no more.
    for (const child of this.children) child.say({ scan: 0, scanned: true });
    return undefined;
  }

  /** One scan by the worker, or by who is started in its place. How it fails, `failed` tells. */
  private async scanBy(worker: ChildApp, stop: AbortSignal): Promise<undefined> {
    const scan = ++this.scans;
    worker.say({ scan });
    this.start('worker');
    while (!stop.aborted && worker.last.scan !== scan) await this.told(LOOK_MS, stop);
  }

  /** Tells the services that nothing is on its way: what they do at their end they may do while the run is proven. */
  drained(): void {
    for (const child of this.children) child.say({ drained: true });
  }

  /** Until one of the processes has told something, or so long. */
  async told(limitMs: number, stop: AbortSignal): Promise<void> {
    await sleep(limitMs, AbortSignal.any([this.news.signal, stop]));
  }

  /** What keeps apps from working, in their own words. */
  async notReadyReasons(): Promise<string[]> {
    const all = await Promise.all(this.children.map((child) => child.notReadyReason()));
    return [...new Set(all.flatMap((reason) => reason ?? []))];
  }

  /** Where an app listens, as soon as it does; undefined when everything is stopped before. */
  async portOf(app: AppName, stopped: AbortSignal): Promise<number | undefined> {
    const child = this.childOf(app);
    const stop = AbortSignal.any([stopped, this.ended.signal]);
    while (!stop.aborted && child?.last.port === undefined) await this.told(LOOK_MS, stop);
    return child?.last.port;
  }

  async stop(): Promise<void> {
    this.ended.abort();
    await Promise.all(this.children.map((child) => child.stop()));
  }

  private childOf(wanted: AppName): ChildApp | undefined {
    return this.children.find(({ plan }) => plan.app === wanted);
  }

  private add(app: AppPlan): ChildApp {
    const env = { ...this.plan.env, PORT: '0', ...app.env };
    const child = new ChildApp({ ...app, env }, this.plan.data, () => {
      this.news.abort();
      this.news = new AbortController();
    });
    this.children.push(child);
    return child;
  }
}
