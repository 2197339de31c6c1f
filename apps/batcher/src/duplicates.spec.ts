import { describe, expect, it } from '@jest/globals';
import type { Accumulator } from './accumulator.js';
import type { CountedFile, FilesUnit } from './committing/commit-unit.js';
import type { CommitRepository } from './committing/commit.repository.js';
import { Duplicates } from './duplicates.js';

const file = (fileId: number, hash: string): CountedFile => ({
  fileId,
  revision: 1,
  path: '/f',
  facts: { size: 1, mtimeNs: '1', ctimeNs: '1', inode: '1:1', hash },
  tokens: 1,
  parts: [],
});

function createDuplicates(): {
  hold: (one: CountedFile, outcome?: Promise<void>) => Promise<void>;
  log: string[];
  parked: () => number;
} {
  const sent = new Map<string, number>();
  const log: string[] = [];
  let parked = 0;
  const outcomes = new Map<CountedFile, Promise<void>>();
  const send = async (one: CountedFile): Promise<void> => {
    await outcomes.get(one);
    sent.set(one.facts.hash, one.fileId);
    log.push(`sent ${one.fileId}`);
  };
  const accumulator: Partial<Accumulator> = {
    entered: () => {},
    decided: () => {},
    parked: (change) => void (parked += change),
    add: (one, outcome) => void send(one).then(() => outcome.done(), outcome.fail.bind(outcome)),
    commit: async (unit) => {
      const { files, reason, duplicateOf } = unit as FilesUnit;
      if (reason === 'duplicate') log.push(`skipped ${files[0]?.fileId} for ${duplicateOf}`);
      return { batches: [], refused: 0, touched: 0, onTheirWay: new Set() };
    },
  };
  const duplicates = new Duplicates(
    { sentFile: async (hash: string) => sent.get(hash) } as CommitRepository,
    accumulator as Accumulator,
  );
  return {
    log,
    parked: () => parked,
    hold: (one, outcome) => {
      if (outcome) outcomes.set(one, outcome);
      return duplicates.sendOnce(one);
    },
  };
}

describe('Duplicates', () => {
  it('sends the first file of a content and skips its copies, also those that come at the same time', async () => {
    const { hold, log, parked } = createDuplicates();
    await Promise.all([hold(file(1, 'a')), hold(file(2, 'a')), hold(file(3, 'b')), hold(file(4, 'a'))]);
    await hold(file(5, 'a'));
    expect(log.sort()).toEqual(['sent 1', 'sent 3', 'skipped 2 for 1', 'skipped 4 for 1', 'skipped 5 for 1']);
    expect(parked()).toBe(0);
  });

  it('sends a copy when the first could not be committed', async () => {
    const { hold, log } = createDuplicates();
    const outcomes = await Promise.allSettled([
      hold(file(1, 'a'), Promise.reject(new Error('refused'))),
      hold(file(2, 'a')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(log).toEqual(['sent 2']);
  });

  it('sends a file again that was sent itself: it is its own original', async () => {
    const { hold, log } = createDuplicates();
    await hold(file(1, 'a'));
    await hold(file(1, 'a'));
    expect(log).toEqual(['sent 1', 'sent 1']);
  });
});
