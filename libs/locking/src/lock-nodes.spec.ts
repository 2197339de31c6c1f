import { describe, expect, it } from '@jest/globals';
import type { LockNode } from './lock-node.js';
import { LockNodes, type Vote } from './lock-nodes.js';

describe('lock nodes asked as one', () => {
  /** Three nodes that vote on a renewal as told, and what they were given back. */
  function nodesVoting(...votes: (Vote | Promise<Vote>)[]): { nodes: LockNodes; placed: number[] } {
    const placed: number[] = [];
    const nodes = votes.map((vote, index) => ({
      renew: () => Promise.resolve(vote),
      place: () => Promise.resolve(placed.push(index)),
    }));
    return { nodes: new LockNodes(nodes as unknown as LockNode[]), placed };
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('give a renewed lock again to a node that lost it, even one that answers after the verdict', async () => {
    let answer = (_: Vote): void => {};
    const late = new Promise<Vote>((resolve) => (answer = resolve));
    const { nodes, placed } = nodesVoting('yes', 'yes', late);
    expect(await nodes.renew('key', 'owner', 1_000, () => true)).toEqual({ verdict: 'yes', answered: 2 });
    expect(placed).toEqual([]);
    answer('no');
    await settled();
    expect(placed).toEqual([2]);
  });

  it.each<[string, Vote[], boolean]>([
    ['the majority refused', ['yes', 'no', 'no'], true],
    ['the lease has ended meanwhile', ['no', 'yes', 'yes'], false],
    ['the node said nothing', ['yes', 'yes', 'silent'], true],
  ])('do not when %s', async (_, votes, wanted) => {
    const { nodes, placed } = nodesVoting(...votes);
    await nodes.renew('key', 'owner', 1_000, () => wanted);
    await settled();
    expect(placed).toEqual([]);
  });
});
