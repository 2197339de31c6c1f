import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT_ROOT, spawnProgram, withTempFolder, type Exit } from '#testing';

const FIXTURES = 'test/e2e/test-run';

interface Results {
  numPendingTests: number;
  testResults: { name: string; message: string }[];
}

/** The test run itself, on files that go wrong in each way once. */
describe('a test run', () => {
  let exit: Exit;
  let output: string;
  let results: Results;
  const message = (file: string): string =>
    results.testResults.find(({ name }) => name.endsWith(file))?.message ?? 'no such file';

  beforeAll(() =>
    withTempFolder(async (folder) => {
      const [json, retries] = [join(folder, 'results.json'), join(folder, 'retries.json')];
      const listed = {
        file: `${FIXTURES}/fails.fixture.ts`,
        test: 'fails',
        reason: 'a test',
        since: '2026-01-01',
      };
      await writeFile(retries, JSON.stringify([listed]));
      const node = ['--import', './scripts/typescript.mjs', '--no-warnings', 'node_modules/jest/bin/jest.js'];
      const match = ['--testMatch', `${PROJECT_ROOT}/${FIXTURES}/*.fixture.ts`];
      const child = spawnProgram(
        process.execPath,
        [...node, '--config', 'jest.config.mjs', ...match, '--json', '--outputFile', json],
        { env: { MILLRACE_UNIT_ONLY: '1', MILLRACE_RETRIES: retries } },
      );
      exit = await child.exited;
      output = child.stderr;
      results = JSON.parse(await readFile(json, 'utf8')) as Results;
    }),
  );

  it('is red, and shows the line of the source that failed', () => {
    expect(exit.code).toBe(1);
    expect(message('fails.fixture.ts')).toMatch(/> +9 \| +expect\(one\)\.toBe\(2\);/);
    expect(message('fails.fixture.ts')).toContain('fails.fixture.ts:9:15');
  });

  it('names what a file left open', () => {
    expect(message('fails.fixture.ts')).toContain("left open: 1 × TCPServerWrap, 1 × listener for 'message'");
  });

  it('fails for a file that cannot be loaded', () => {
    expect(message('no-import.fixture.ts')).toContain('Cannot find module');
  });

  it('counts what cannot run here as not run, with the reason', () => {
    expect(results.numPendingTests).toBe(1);
    expect(output).toMatch(/not run:\n +test\/e2e\/test-run\/fails\.fixture\.ts: cannot run \(no wings\)/);
  });

  it('tells which tests had a second try without being listed', () => {
    expect(output).toMatch(/without being listed in test\/retries\.json:\n.*passes the second time\n/);
  });
});
