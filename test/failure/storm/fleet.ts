import { EXIT } from '#service';
import type { Child } from '#testing';
import type { MemberPlan } from './fleet-plan.js';
import type { LogBook } from './log-book.js';
import { spawnOn } from './spawn-on.js';

export interface FleetMember {
  label: string;
  pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Of its log. */
  lastLine: () => Record<string, unknown>;
}

/** Processes that are started again when they end, as an orchestrator would, until the fleet is stopped. */
export class StormFleet {
  private readonly members = new Map<string, Child>();
  private stopping = false;
  /** Exit codes other than 0 that nobody here caused: each is a finding. */
  readonly surprises: string[] = [];
  /** What ended by our hand, and the exit codes that are right then; past its time a process leaves by force. */
  private readonly condemned = new Map<number, readonly (number | null)[]>();

  constructor(private readonly logs: LogBook) {}

  /** `on` stands before its command, such as `ip netns exec <name>`. */
  start(plan: MemberPlan, env: Record<string, string>, on: readonly string[] = []): void {
    const { label, app, entry = `apps/${app}/src/main`, fault } = plan;
    const start = (once = {}): Child => spawnOn(on, entry, { ...env, ...once });
    const child = this.launch(label, start, fault === undefined ? {} : { MILLRACE_FAULT: fault });
    if (fault?.endsWith(':kill')) this.condemned.set(child.pid, [null]);
  }

  get alive(): FleetMember[] {
    return [...this.members].flatMap(([label, child]) =>
      child.running
        ? [
            {
              label,
              pid: child.pid,
              kill: (signal: NodeJS.Signals) => this.kill(child, signal),
              lastLine: () => child.logs().at(-1) ?? {},
            },
          ]
        : [],
    );
  }

  /** The end of each member's log, for a report of what went wrong. */
  exitSummary(lines = 15): string {
    return [...this.members]
      .map(
        ([label, child]) =>
          `--- ${label}\n${child.stdout.trimEnd().split('\n').slice(-lines).join('\n')}\n${child.stderr.slice(-1000)}`,
      )
      .join('\n');
  }

  resumeAll(): void {
    for (const child of this.members.values()) child.signal('SIGCONT');
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
      [...this.members].map(async ([label, child]) => {
        if (!child.running) return;
        const { code, signal } = await child.end('SIGTERM', 30_000);
        if (code !== 0) this.surprises.push(`${label} ended with ${code ?? signal} after SIGTERM`);
      }),
    );
  }

  private kill(child: Child, signal: NodeJS.Signals): void {
    if (signal === 'SIGKILL') this.condemned.set(child.pid, [null]);
    if (signal === 'SIGTERM') this.condemned.set(child.pid, [EXIT.ok, EXIT.forced, null]);
    child.signal(signal);
  }

  private launch(label: string, start: (once?: Record<string, string>) => Child, once = {}): Child {
    const child = start(once);
    this.members.set(label, child);
    void child.exited.then(({ code, signal }) => {
      this.logs.keep(label, child);
      if (this.stopping) return;
      if (!this.condemned.get(child.pid)?.includes(code))
        this.surprises.push(`${label} ended by itself with ${code ?? signal}\n${child.stdout.slice(-2000)}`);
      this.launch(label, start);
    });
    return child;
  }
}
