import { describe, expect, it } from '@jest/globals';
import { admitted, distinctFiles, weightOf, type BatchDraft, type CountedFile } from './commit-unit.js';

function countedFile(fileId: number, costs: readonly number[] = [10], revision = 1): CountedFile {
  const parts = costs.map((cost, index) => ({
    start: index,
    end: index + 1,
    tokens: cost - 1,
    cost,
    hash: `h${index}`,
  }));
  const facts = { size: costs.length, mtimeNs: '1', ctimeNs: '1', inode: '1:1', hash: 'h' };
  return { fileId, revision, path: `/f${fileId}`, facts, tokens: 1, parts };
}

const draft = (...files: CountedFile[]): BatchDraft => ({
  parts: files.map((file) => ({ file, part: 1, bytes: file.parts[0]! })),
  totalTokens: 64 + files.reduce((sum, file) => sum + file.parts[0]!.cost, 0),
});

describe('distinctFiles', () => {
  it('has a file that was delivered twice once, by its first delivery', () => {
    const [first, again] = [countedFile(1), countedFile(1)];
    expect([...distinctFiles([draft(first), draft(again)]).values()]).toEqual([first]);
    expect([...distinctFiles([draft(first), draft(again)]).values()][0]).toBe(first);
  });

  it('tells revisions apart', () => {
    expect(distinctFiles([draft(countedFile(1), countedFile(1, [10], 2))]).size).toBe(2);
  });
});

describe('admitted', () => {
  it('leaves out files that are not admitted, with their tokens', () => {
    const [kept, dropped] = [countedFile(1, [10]), countedFile(2, [25])];
    expect(admitted([draft(kept, dropped)], new Set([kept]))).toEqual([draft(kept)]);
  });

  it('leaves out batches that have no file left', () => {
    expect(admitted([draft(countedFile(1))], new Set())).toEqual([]);
  });

  it('keeps of two deliveries of a file only the admitted one', () => {
    const [first, again, other] = [countedFile(1), countedFile(1), countedFile(2)];
    expect(admitted([draft(first), draft(again, other)], new Set([first, other]))).toEqual([
      draft(first),
      draft(other),
    ]);
  });
});

describe('weightOf', () => {
  it('is the number of rows', () => {
    expect(
      weightOf({ kind: 'batches', drafts: [draft(countedFile(1), countedFile(2)), draft(countedFile(3))] }),
    ).toBe(3);
    expect(weightOf({ kind: 'fail', files: [countedFile(1)], error: 'x' })).toBe(1);
    expect(weightOf({ kind: 'leave', files: [countedFile(1), countedFile(2)] })).toBe(2);
  });
});
