// Jest's own runner, and after each file a look at what it left open. Files share a worker, so what one leaves would keep
// the worker from ending, and nobody would know whose it is.
import { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import runner from 'jest-circus/runner';
import { retriesOf } from './retries.mjs';

const WATCHED = [
  'TCPSocketWrap',
  'PipeWrap',
  'TCPServerWrap',
  'Worker',
  'ProcessWrap',
  'Timeout',
  'FSEventWrap',
];
// What ends by itself within its own bound is no leak.
const GRACE_MS = 10_000;

// Jest sends this to a worker that has nothing more to do and does not end: it tells what keeps it.
if (process.send)
  process.once('SIGTERM', () => {
    console.error(
      `worker ${process.pid} was told to end; still open: ${process.getActiveResourcesInfo().join(', ')}`,
    );
    if (process.listenerCount('SIGTERM') === 0) process.kill(process.pid, 'SIGTERM');
  });

export default async function run(globalConfig, config, environment, runtime, path, ...rest) {
  const before = openHandles();
  const cpuBefore = cpuSeconds();
  if (retriesOf(path).length > 0) globalThis[Symbol.for('RETRY_TIMES')] = '1';
  const result = await runner.default(globalConfig, config, environment, runtime, path, ...rest);
  setAside(result);
  const leaks = await leftOpen(before);
  if (leaks.length > 0 && !result.testExecError)
    fail(result, `left open: ${[...leaks, ...endChildren()].join(', ')}`);
  result.cpuSeconds = cpuSeconds() - cpuBefore;
  return result;
}

/** Processor time of this process and of the children that it has waited for; not known outside of Linux. */
function cpuSeconds() {
  if (process.platform !== 'linux') return Number.NaN;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
}

/** Tests that said that they cannot run here (NotRunHere of #testing) count as not run. */
function setAside(result) {
  for (const test of result.testResults) {
    const reason = /^NotRunHere: (.*)/.exec(test.failureMessages[0] ?? '')?.[1];
    if (reason === undefined) continue;
    Object.assign(test, { status: 'pending', notRun: reason, failureMessages: [], failureDetails: [] });
    result.numFailingTests--;
    result.numPendingTests++;
  }
  if (result.numFailingTests === 0 && !result.testExecError) result.failureMessage = null;
}

async function leftOpen(before) {
  const deadline = Date.now() + GRACE_MS;
  for (;;) {
    const leaks = more(before, openHandles());
    if (leaks.length === 0 || Date.now() > deadline) return leaks;
    await sleep(20);
  }
}

/** Processes that nobody would end any more; their commands. */
function endChildren() {
  return process
    ._getActiveHandles()
    .filter((handle) => handle instanceof ChildProcess && handle.kill('SIGKILL'))
    .map(({ spawnargs }) => spawnargs.join(' ').slice(0, 200));
}

function openHandles() {
  const counts = new Map();
  for (const name of process.getActiveResourcesInfo())
    if (WATCHED.includes(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  // Who listens to the parent keeps the channel to it open.
  for (const event of ['message', 'disconnect'])
    counts.set(`listener for '${event}'`, process.listenerCount(event));
  return counts;
}

function more(before, after) {
  return [...after]
    .map(([name, count]) => [name, count - (before.get(name) ?? 0)])
    .filter(([, extra]) => extra > 0)
    .map(([name, extra]) => `${extra} × ${name}`);
}

function fail(result, message) {
  result.testExecError = { message, stack: message };
  result.failureMessage = `${result.failureMessage ?? ''}\n  ● ${message}; close it in the file's afterAll\n`;
}
