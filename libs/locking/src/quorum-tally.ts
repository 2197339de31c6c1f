/** What one lock node said. `silent`: no answer in time, no connection, or an answer that must not count. */
export type Vote = 'yes' | 'no' | 'silent';

/** `inconclusive`: neither a majority for nor an impossible one; nobody knows. */
export type Verdict = 'yes' | 'no' | 'inconclusive';

/** The votes needed: more than half, so that two majorities always share a node. */
export function quorumOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/**
 * Counts the votes of N nodes as they come in. `no` is given as soon as a majority can no longer be had because nodes
 * said no; silence alone never makes a `no`.
 */
export class QuorumTally {
  private yes = 0;
  private no = 0;
  private silent = 0;
  readonly quorum: number;

  constructor(private readonly nodes: number) {
    this.quorum = quorumOf(nodes);
  }

  get answered(): number {
    return this.yes + this.no;
  }

  /** Adds a vote; returns the verdict when it is settled, undefined while it is open. */
  add(vote: Vote): Verdict | undefined {
    this[vote]++;
    if (this.yes >= this.quorum) return 'yes';
    if (this.no > this.nodes - this.quorum) return 'no';
    return this.yes + this.no + this.silent === this.nodes ? 'inconclusive' : undefined;
  }
}
