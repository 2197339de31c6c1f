import { silentLogger } from '#service';
import { openDatabase } from '../src/database.fixture.js';
import { FileClaims } from '../src/file-claims.repository.js';
import { startLine } from './start-line.process.js';

// Test program: <url> <worker id> <start file>. Claims files by one and by many until there are none; prints the ids.
const [url = '', workerId = '', startFile = ''] = process.argv.slice(2);
const database = await openDatabase(url, { poolSize: 2 });
const claims = new FileClaims(database, silentLogger);
const ids: number[] = [];
await startLine(startFile);
for (let round = 0; ; round++) {
  const files = await claims.getNextFiles(workerId, round % 2 === 0 ? 1 : 20, { leaseMs: 600_000 });
  if (files.length === 0) break;
  ids.push(...files.map(({ id }) => id));
}
await database.stop();
process.stdout.write(`${JSON.stringify({ ids })}\n`);
