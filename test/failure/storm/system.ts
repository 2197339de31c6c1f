import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '#service';
import {
  spawnBuilt,
  tempFolder,
  type Child,
  type DatabaseKind,
  type TempFolder,
  type Random,
} from '#testing';
import type { RecordingAnalyser } from '../../e2e/recording-analyser.js';
import { StormBooks, type Jobs } from './books.js';
import { fleetPlan, FULL_FLEET, type AppName, type Changes, type FleetSize } from './fleet-plan.js';
import { StormFleet } from './fleet.js';
import type { HostNetwork } from './hosts/network.js';
import { LogBook } from './log-book.js';
import { Neighbour } from './neighbour.js';
import { Orders } from './orders.js';
import { hostServices, localServices, stopServices, type StormServices } from './services.js';
import { spawnOn } from './spawn-on.js';
import { StormTree } from './tree.js';

const MAX_BATCH_TOKENS = 2_000;
const PATIENCE_MS = 30_000;
const LOOK_MS = 200;
// The scans of a storm take turns: jobs of every size meet the same faults, and each other.
const FILES_PER_JOB = [1, 7, 100];

/** What a scan tells at its end, if it came to it. */
export interface ScanTold {
  outcome?: string;
  resumed?: boolean;
  removed?: number;
  errorCodes?: Record<string, number>;
}

export interface SystemOptions {
  kind: DatabaseKind;
  /** Files in the tree at the start. */
  files: number;
  random: Random;
  /** A folder for the logs of all processes. */
  logs?: string | undefined;
  /** How many times shorter every time is: of the apps' locks, leases and checks, and of the faults that outlast them. */
  haste?: number | undefined;
  /** Hosts to spread over, instead of this one alone. */
  network?: HostNetwork | undefined;
}

/** The composed system with a handle on everything that can be broken. */
export class StormSystem {
  readonly fleet: StormFleet;
  readonly books: StormBooks;
  readonly orders: Orders;
  /** Jobs that were seen, to be delivered late. */
  readonly kept: Jobs[] = [];
  /** The scan in progress, if one is. */
  producer: Child | undefined;
  private scansMore: Record<string, string> = {};
  /** The other pipeline, once it has moved in. */
  neighbour: Neighbour | undefined;
  /** How long it is looked for what comes of something. */
  patienceMs = PATIENCE_MS;
  private scansBegun = 0;
  private readonly scansEnded: { begun: number; summary: ScanTold }[] = [];
  private readonly stopped = new AbortController();
  private scanning: Promise<void> = Promise.resolve();
  private halted = false;

  private constructor(
    readonly services: StormServices,
    private readonly folder: TempFolder,
    readonly tree: StormTree,
    readonly logs: LogBook,
    private readonly haste: number,
  ) {
    this.orders = new Orders(join(folder.path, 'orders'));
    this.fleet = new StormFleet(logs);
    this.books = new StormBooks(services.directDatabaseUrl, services.redis.url);
  }

  static async start(options: SystemOptions): Promise<StormSystem> {
    const { kind, files, random, logs, network, haste = 1 } = options;
    const folder = await tempFolder('storm');
    const tree = new StormTree(join(folder.path, 'tree'));
    await mkdir(tree.root);
    await tree.grow(files, random);
    const services = network ? await hostServices(network) : await localServices(kind, folder);
    return new StormSystem(services, folder, tree, new LogBook(logs), haste);
  }

  get analyser(): RecordingAnalyser {
    return this.services.analyser;
  }

  /** The fleet, a neighbour, and one scan after another. */
  async startApps(random: Random, size = FULL_FLEET): Promise<void> {
    this.startFleet(size);
    this.neighbour = await Neighbour.moveIn(this.services, this.folder.path, random);
    const env = { ...this.environmentOf('worker'), ...this.neighbour.environment };
    this.fleet.start({ label: 'neighbour-1', app: 'worker' }, env, this.services.on('neighbour-1'));
    this.scanning = this.scanForEver();
  }

  startFleet(size: FleetSize, changes?: Changes): void {
    for (const plan of fleetPlan(size, changes))
      this.fleet.start(plan, { ...this.environmentOf(plan.app), ...plan.env }, this.services.on(plan.label));
  }

  /** One more complete scan, however often it must be tried. */
  async scanOnce(): Promise<void> {
    for (let tries = 0; tries < 20 && !this.halted; tries++) {
      // What an earlier scan had listed may have changed since, so one that goes on from there will not do.
      const { outcome, resumed } = await this.scan();
      const seen = outcome === 'completed' && !resumed;
      if (seen && (await this.scanNeighbour())) return;
      await sleep(1_000);
    }
    if (!this.halted) throw new Error('no scan completed after the storm');
  }

  /** What the next scan that begins tells at its end; undefined when none has ended by then. */
  async nextScan(): Promise<ScanTold | undefined> {
    const from = this.scansBegun;
    const next = (): ScanTold | undefined => this.scansEnded.find(({ begun }) => begun > from)?.summary;
    return (await this.sees(() => next() !== undefined)) ? next() : undefined;
  }

  /** The process of a scan that begins after this moment and does not come to its end by itself. */
  async endlessScan(): Promise<Child | undefined> {
    const from = this.scansBegun;
    this.scansMore = { MILLRACE_FAULT: 'producer.before-finish:1:hang' };
    const begun = await this.sees(() => this.scansBegun > from && this.producer !== undefined);
    this.scansMore = {};
    return begun ? this.producer : undefined;
  }

  /** Whether a scan that begins after this moment goes on from one that was cut off. */
  async seesResumedScan(): Promise<boolean> {
    const from = this.scansBegun;
    return this.sees(() => this.scansEnded.some(({ begun, summary }) => begun > from && summary.resumed));
  }

  /** Whether something is seen to come true before long. What cannot be looked at now may be later. */
  async sees(what: () => boolean | Promise<boolean>): Promise<boolean> {
    for (const until = performance.now() + this.patienceMs; performance.now() < until;) {
      if (await Promise.resolve(what()).catch(() => false)) return true;
      if (this.stopped.signal.aborted) return false;
      await this.wait(LOOK_MS);
    }
    return false;
  }

  /** A producer of this system's tree; the app's own unless another built file is named. */
  spawnProducer(entry = 'apps/producer/src/main', more: Record<string, string> = {}): Child {
    const env = { ...this.environment(), TARGET_DIRECTORY: this.tree.root, ...more };
    return spawnOn(this.services.on('producer'), entry, env);
  }

  /** Scans the neighbour's tree, and says whether it was seen to its end. */
  async scanNeighbour(): Promise<boolean> {
    if (!this.neighbour) return true;
    const { databaseUrl, tree } = this.neighbour;
    const more = { DATABASE_URL: databaseUrl, TARGET_DIRECTORY: tree.root };
    const { outcome, resumed } = await this.told(this.spawnProducer(undefined, more));
    return outcome === 'completed' && !resumed;
  }

  private async scan(): Promise<ScanTold> {
    const begun = ++this.scansBegun;
    const perJob = String(FILES_PER_JOB[begun % FILES_PER_JOB.length]);
    this.producer = this.spawnProducer(undefined, { FILES_PER_JOB: perJob, ...this.scansMore });
    const summary = await this.told(this.producer);
    this.producer = undefined;
    this.scansEnded.push({ begun, summary });
    return summary;
  }

  private async told(producer: Child): Promise<ScanTold> {
    await producer.exited;
    this.logs.keep('producer', producer);
    const told = producer.logs().find(({ event }) => event === 'scan-summary');
    return told?.summary ?? {};
  }

  /** Makes an end of everything as soon as can be: waits are cut short and nothing is started again. */
  halt(): void {
    this.halted = true;
    this.stopped.abort();
    this.fleet.retire();
    this.producer?.signal('SIGTERM');
  }

  /** Ends the repeated scans; the fleet goes on. */
  async calm(): Promise<void> {
    this.stopped.abort();
    this.fleet.resumeAll();
    this.producer?.signal('SIGCONT');
    for (const { pid } of this.fleet.alive) this.orders.give(pid, { kind: 'shift', byMs: 0 });
    await this.scanning;
  }

  wait(ms: number): Promise<void> {
    return sleep(this.shortened(ms), this.stopped.signal);
  }

  shortened(ms: number): number {
    return Math.round(ms / this.haste);
  }

  /** Another program that holds SQLite's write lock. */
  async holdWriteLock(ms: number): Promise<string> {
    const path = this.services.directDatabaseUrl.replace('sqlite:', '');
    const holder = spawnBuilt('libs/database/testing/hold-lock.process', [path, String(this.shortened(ms))]);
    await holder.exited;
    return `${ms} ms`;
  }

  async stop(): Promise<void> {
    await this.calm();
    await this.fleet.stop();
    await this.neighbour?.analyser.stop();
    await stopServices(this.services);
    await this.folder.remove();
  }

  private environmentOf(app: AppName): Record<string, string> {
    const sink = { SINK: 'http', ANALYZER_URL: this.analyser.url, PATH_BASE: this.tree.root };
    const more = {
      batcher: { BATCHER_THREADS: '1' },
      analyzer: sink,
      'outbox-publisher': {},
      'dlq-admin': {},
      worker: { BATCHER_THREADS: '1', TARGET_DIRECTORY: this.tree.root, STARTUP_TIMEOUT_MS: '0', ...sink },
    };
    return { ...this.environment(), ...more[app] };
  }

  private environment(): Record<string, string> {
    return {
      ...this.orders.environment,
      REDIS_URL: this.services.redisUrl,
      DATABASE_URL: this.services.databaseUrl,
      MAX_BATCH_TOKENS: String(MAX_BATCH_TOKENS),
      MILLRACE_TEST_HASTE: String(this.haste),
      LOCK_LEASE_MILLISECONDS: String(this.shortened(5_000)),
      LOCK_RENEWAL_INTERVAL_MILLISECONDS: String(this.shortened(1_000)),
      RECOVERY_AGE_MS: String(this.shortened(10_000)),
      RECOVERY_INTERVAL_MS: String(this.shortened(2_000)),
      CONFIRM_TIMEOUT_MS: String(this.shortened(10_000)),
      // A storm deletes files on purpose.
      ALLOW_MASS_REMOVAL: 'true',
    };
  }

  private async scanForEver(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      await this.scan();
      // A process starts no faster when the rest is in haste.
      await sleep(1_000 * this.haste, this.stopped.signal);
    }
  }
}
