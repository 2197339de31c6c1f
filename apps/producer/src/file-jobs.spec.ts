import { describe, expect, it } from '@jest/globals';
import { shareJobs } from './file-jobs.js';

const MB = 1_048_576;
/** The job of each file of these sizes, in their order; null: one of its own. */
function jobsOf(sizes: readonly number[], filesPerJob: number): (string | null)[] {
  const files = sizes.map((size) => ({ size }));
  const jobs = shareJobs(files, filesPerJob);
  return files.map((file) => jobs.get(file) ?? null);
}
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
    const jobs = jobsOf(Array<number>(25).fill(1), 10);
    expect(shared(jobs)).toEqual([10, 10, 5]);
    expect(new Set(jobs).size).toBe(3);
  });

  it('bounds the content of a job, and leaves a file alone that is as large', () => {
    expect(shared(jobsOf([MB / 2, MB / 2, 1, 5 * MB, 1, 1], 10))).toEqual([2, 1, 1, 2]);
  });

  it('gives a file that shares with none a job of its own', () => {
    expect(jobsOf([1], 10)).toEqual([null]);
    expect(jobsOf([1, 1, 1], 1)).toEqual([null, null, null]);
    expect(jobsOf([], 10)).toEqual([]);
  });
});
