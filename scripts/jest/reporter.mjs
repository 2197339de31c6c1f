// The end of a run: the slowest files with their processor time, what was retried, what could not run here.
import { relative } from 'node:path';
import { mayRetry } from './retries.mjs';

const SLOWEST = Number(process.env.MILLRACE_SLOWEST ?? 10);

export default class RunReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_, { testResults }) {
    const name = ({ testFilePath }) => relative(this.rootDir, testFilePath);
    const tests = testResults.flatMap((file) => file.testResults.map((test) => ({ file, test })));
    const retried = tests.filter(({ test }) => test.invocations > 1 && test.status !== 'pending');
    const notRun = tests.filter(({ test }) => test.status === 'pending' || test.status === 'todo');
    this.unlisted = retried.filter(({ file, test }) => !mayRetry(file.testFilePath, test.fullName));
    if (testResults.length > 1)
      list(
        'slowest files',
        slowest(testResults).map((file) => `${seconds(file)} ${name(file)}`),
      );
    const why = ({ notRun }) => (notRun ? ` (${notRun})` : '');
    const line = ({ file, test }) => `${name(file)}: ${test.fullName}${why(test)}`;
    list('retried', retried.map(line));
    list('retried without being listed in test/retries.json', this.unlisted.map(line));
    // A pattern of names deselects; that is no news.
    if (!process.argv.some((word) => /^(-t|--testNamePattern)/.test(word))) list('not run', notRun.map(line));
  }

  getLastError() {
    return this.unlisted?.length > 0 ? new Error('a test needed a second try') : undefined;
  }
}

function slowest(files) {
  return [...files].sort((a, b) => b.perfStats.runtime - a.perfStats.runtime).slice(0, SLOWEST);
}

/** A file that could not be loaded has no processor time. */
function seconds({ perfStats, cpuSeconds = 0 }) {
  const [wall, cpu] = [perfStats.runtime / 1000, cpuSeconds].map((n) => n.toFixed(1));
  return `${`${wall} s`.padStart(8)}${`${cpu} CPU-s`.padStart(12)}`;
}

function list(title, lines) {
  if (lines.length > 0) console.error(`\n${title}:\n${lines.map((text) => `  ${text}`).join('\n')}`);
}
