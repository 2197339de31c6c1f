import type { LockNode } from './lock-node.js';

/** What one lock node said. `silent`: no answer in time, no connection, or an answer that must not count. */
export type Vote = 'yes' | 'no' | 'silent';

/** `inconclusive`: neither a majority for nor an impossible one; nobody knows. */
export type Verdict = 'yes' | 'no' | 'inconclusive';

export interface Result {
  verdict: Verdict;
  /** Nodes that had answered when the verdict was settled. */
  answered: number;
}

/**
 * The lock nodes asked as one. All are asked at the same time and the verdict is given as soon as it is settled, so a
 * hung minority costs no time.
 */
export class LockNodes {
  readonly quorum: number;

  constructor(private readonly nodes: readonly LockNode[]) {
    this.quorum = quorumOf(nodes.length);
  }

  get trouble(): unknown {
    return this.nodes.find(({ trouble }) => trouble !== undefined)?.trouble;
  }

  async connect(): Promise<number> {
    const votes = await Promise.all(this.nodes.map((node) => node.connect()));
    return votes.filter((vote) => vote === 'yes').length;
  }

  disconnect(): void {
    for (const node of this.nodes) node.disconnect();
  }

  ping(): Promise<Result> {
    return this.poll((node) => node.ping());
  }

  /** Takes the lock on a majority. Without one, gives back what a minority granted or may yet grant. */
  async lock(key: string, owner: string, leaseMs: number): Promise<Result> {
    const result = await this.poll((node) => node.lock(key, owner, leaseMs));
    const mayLinger = this.nodes.length > 1 || result.verdict === 'inconclusive';
    if (result.verdict !== 'yes' && mayLinger) void this.release(key, owner);
    return result;
  }

  /**
   * Renews on a majority that still has the lock. Nodes that lost it (restarted empty) get it again for the next round,
   * so that a long lease outlives restarts one after another; they do not count in this one.
   */
  async renew(key: string, owner: string, leaseMs: number, wanted: () => boolean): Promise<Result> {
    const votes = new Map<LockNode, Promise<Vote>>();
    const result = await this.poll((node) => {
      const vote = node.renew(key, owner, leaseMs);
      votes.set(node, vote);
      return vote;
    });
    if (result.verdict === 'yes')
      // Also those that answer after the verdict: else a node slower than the others would never get it again.
      for (const [node, vote] of votes)
        void vote.then((said) => {
          if (said === 'no' && wanted()) void node.place(key, owner, leaseMs);
        });
    return result;
  }

  check(key: string, owner: string): Promise<Result> {
    return this.poll((node) => node.check(key, owner));
  }

  /** Asks every node, so that none keeps the lock; resolves when the verdict is settled. */
  release(key: string, owner: string): Promise<Result> {
    return this.poll((node) => node.release(key, owner));
  }

  private poll(ask: (node: LockNode) => Promise<Vote>): Promise<Result> {
    const tally: Tally = { yes: 0, no: 0, silent: 0 };
    return new Promise((resolve, reject) => {
      for (const node of this.nodes)
        ask(node).then((vote) => {
          tally[vote]++;
          const verdict = verdictOf(tally, this.nodes.length);
          if (verdict) resolve({ verdict, answered: tally.yes + tally.no });
        }, reject);
    });
  }
}

/** The votes needed: more than half, so that two majorities always share a node. */
export function quorumOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/** The votes so far. */
export type Tally = Record<Vote, number>;

/**
 * The verdict when it is settled, undefined while it is open. `no` is given as soon as a majority can no longer be had
 * because nodes said no; silence alone never makes a `no`.
 */
export function verdictOf({ yes, no, silent }: Tally, nodes: number): Verdict | undefined {
  const quorum = quorumOf(nodes);
  if (yes >= quorum) return 'yes';
  if (no > nodes - quorum) return 'no';
  return yes + no + silent === nodes ? 'inconclusive' : undefined;
}
