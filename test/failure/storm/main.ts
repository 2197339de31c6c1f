import { parseArgs } from 'node:util';
import { storm } from './storm.js';

// `npm run storm -- --minutes 5 --seed 42 --database postgres`: the same seed gives the same storm.
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    files: { type: 'string', default: '1000' },
    database: { type: 'string', default: 'sqlite' },
  },
});
const kind = values.database === 'postgres' ? 'postgres' : 'sqlite';
const options = {
  kind,
  seed: Number(values.seed),
  files: Number(values.files),
  seconds: Number(values.minutes) * 60,
} as const;
console.log(`storm on ${kind}: seed ${options.seed}, ${options.files} files, ${values.minutes} minutes`);
const result = await storm({ ...options, log: (line) => console.log(`${new Date().toISOString()} ${line}`) });
console.log(JSON.stringify(result, null, 2));
console.log(
  result.findings.length === 0 ? 'HELD' : `BROKEN; replay with --seed ${options.seed} --database ${kind}`,
);
process.exit(result.findings.length === 0 ? 0 : 1);
