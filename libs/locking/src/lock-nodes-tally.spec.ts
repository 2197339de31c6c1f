import { describe, expect, it } from '@jest/globals';
import { quorumOf, verdictOf, type Tally, type Verdict, type Vote } from './lock-nodes.js';

const VOTES: readonly Vote[] = ['yes', 'no', 'silent'];

function everyOrder(nodes: number): Vote[][] {
  return nodes === 0 ? [[]] : everyOrder(nodes - 1).flatMap((rest) => VOTES.map((vote) => [...rest, vote]));
}

/** What is said after each vote. */
function verdicts(votes: readonly Vote[], nodes: number): (Verdict | undefined)[] {
  const tally: Tally = { yes: 0, no: 0, silent: 0 };
  return votes.map((vote) => {
    tally[vote]++;
    return verdictOf(tally, nodes);
  });
}

function settle(votes: readonly Vote[]): Verdict | undefined {
  return verdicts(votes, votes.length).find((verdict) => verdict !== undefined);
}

const count = (votes: readonly Vote[], wanted: Vote): number =>
  votes.filter((vote) => vote === wanted).length;

describe('tally', () => {
  it('needs more than half of the nodes', () => {
    expect([1, 2, 3, 4, 5, 6, 7].map(quorumOf)).toEqual([1, 2, 2, 3, 3, 4, 4]);
  });

  it.each([1, 2, 3, 4, 5, 6])('says yes with a majority of yes, and only then, of %i nodes', (nodes) => {
    for (const votes of everyOrder(nodes))
      expect(settle(votes) === 'yes').toBe(count(votes, 'yes') >= quorumOf(nodes));
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'says no when nodes that said no make a majority impossible, of %i nodes',
    (nodes) => {
      for (const votes of everyOrder(nodes))
        expect(settle(votes) === 'no').toBe(count(votes, 'no') > nodes - quorumOf(nodes));
    },
  );

  it.each([1, 2, 3, 4, 5, 6])('is always settled once all of %i nodes have voted', (nodes) => {
    for (const votes of everyOrder(nodes)) expect(['yes', 'no', 'inconclusive']).toContain(settle(votes));
  });

  it('never takes silence for a no', () => {
    expect(settle(['silent', 'silent', 'silent', 'silent', 'silent'])).toBe('inconclusive');
    expect(settle(['yes', 'yes', 'silent', 'silent', 'silent'])).toBe('inconclusive');
  });

  it('does not wait for a hung minority', () => {
    expect(verdicts(['yes', 'yes', 'yes'], 5)).toEqual([undefined, undefined, 'yes']);
  });
});
