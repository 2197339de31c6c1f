import { spawnApp, type Child } from '#testing';
import type { LogBook } from './log-book.js';

interface Member {
  app: string;
  env: Record<string, string>;
  child: Child;
}

export interface FleetMember {
  label: string;
  pid: number;
  kill(signal: NodeJS.Signals): void;
}

/** Processes that are started again when they end, as an orchestrator would, until the fleet is stopped. */
export class StormFleet {
  private readonly members = new Map<string, Member>();
  private stopping = false;
  /** Exit codes other than 0 that nobody here caused: each is a finding. */
  readonly surprises: string[] = [];
  private readonly murdered = new Set<number>();

  constructor(private readonly logs: LogBook) {}

  start(label: string, app: string, env: Record<string, string>): void {
    this.launch(label, { app, env });
  }

  get alive(): FleetMember[] {
    return [...this.members].flatMap(([label, { child }]) =>
      child.running
        ? [{ label, pid: child.pid, kill: (signal: NodeJS.Signals) => this.kill(child, signal) }]
        : [],
    );
  }

  /** The end of each member's log, for a report of what went wrong. */
  lastWords(lines = 15): string {
    return [...this.members]
      .map(
        ([label, { child }]) =>
          `--- ${label}\n${child.stdout.trimEnd().split('\n').slice(-lines).join('\n')}\n${child.stderr.slice(-1000)}`,
      )
      .join('\n');
  }

  resumeAll(): void {
    for (const { child } of this.members.values()) child.signal('SIGCONT');
  }

  /** From here on nothing is started again. */
  retire(): void {
    this.stopping = true;
  }

  /** Ends every member in order; one that does not exit with 0 is a finding. */
  async stop(): Promise<void> {
    this.retire();
    this.resumeAll();
    await Promise.all(
      [...this.members].map(async ([label, { child }]) => {
        if (!child.running) return;
        const { code, signal } = await child.end('SIGTERM', 30_000);
        if (code !== 0) this.surprises.push(`${label} ended with ${code ?? signal} after SIGTERM`);
      }),
    );
  }

  private kill(child: Child, signal: NodeJS.Signals): void {
    if (signal === 'SIGKILL') this.murdered.add(child.pid);
    child.signal(signal);
  }

  private launch(label: string, member: Omit<Member, 'child'>): void {
    const child = spawnApp(member.app, member.env);
    this.members.set(label, { ...member, child });
    void child.exited.then(({ code, signal }) => {
      this.logs.keep(label, child);
      if (this.stopping) return;
      if (!this.murdered.has(child.pid))
        this.surprises.push(`${label} ended by itself with ${code ?? signal}\n${child.stdout.slice(-2000)}`);
      this.launch(label, member);
    });
  }
}
