import { describe, expect, it } from '@jest/globals';
import { shareJobs } from './file-jobs.js';

const MB = 1_048_576;
const sizes = (...bytes: number[]): { size: number }[] => bytes.map((size) => ({ size }));
/** How many neighbours share each job. */
function shared(jobs: readonly (string | null)[]): number[] {
  const found: number[] = [];
  jobs.forEach((job, at) => {
    if (job !== null && job === jobs[at - 1]) found[found.length - 1]!++;
    else found.push(1);
  });
  return found;
}

describe('shareJobs', () => {
  it('gives neighbours a job, as many as may share one', () => {
    const jobs = shareJobs(sizes(...Array.from({ length: 25 }, () => 1)), 10);
    expect(shared(jobs)).toEqual([10, 10, 5]);
    expect(new Set(jobs).size).toBe(3);
  });

  it('bounds the content of a job, and leaves a file alone that is as large', () => {
    expect(shared(shareJobs(sizes(MB / 2, MB / 2, 1, 5 * MB, 1, 1), 10))).toEqual([2, 1, 1, 2]);
  });

  it('gives a file that shares with none a job of its own', () => {
    expect(shareJobs(sizes(1), 10)).toEqual([null]);
    expect(shareJobs(sizes(1, 1, 1), 1)).toEqual([null, null, null]);
    expect(shareJobs([], 10)).toEqual([]);
  });
});
