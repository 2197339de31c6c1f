import { openDatabase } from '../src/database.fixture.js';
import { queryOne } from '../src/query.js';
import { startLine } from './start-line.process.js';

// Test program: <url> <transactions> <start file>. Each transaction reads the counter, then writes one more.
const [url = '', transactions = '', startFile = ''] = process.argv.slice(2);
const database = await openDatabase(url, { poolSize: 4 });
await startLine(startFile);
const increments = Array.from({ length: Number(transactions) }, () =>
  database.inTransaction(async (tx) => {
    // PostgreSQL lets others read what this transaction is about to change unless the row is locked.
    const lock = database.dialect === 'postgres' ? 'FOR UPDATE' : '';
    const sql = `SELECT fence FROM fences WHERE key = 'counter' ${lock}`;
    const { fence } = await queryOne<{ fence: number }>(tx, sql);
    await tx.query(`UPDATE fences SET fence = ${fence + 1} WHERE key = 'counter'`);
  }),
);
const outcomes = await Promise.allSettled(increments);
await database.stop();
const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
process.stdout.write(`${JSON.stringify({ errors })}\n`);
