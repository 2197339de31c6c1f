/** What one lock node said. `silent`: no answer in time, no connection, or an answer that must not count. */
export type Vote = 'yes' | 'no' | 'silent';

/** `inconclusive`: neither a majority for nor an impossible one; nobody knows. */
export type Verdict = 'yes' | 'no' | 'inconclusive';

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
