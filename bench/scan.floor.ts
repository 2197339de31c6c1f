import { rmSync } from 'node:fs';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import sqlite3 from 'sqlite3';
import { MIGRATIONS } from '../libs/database/src/migrations/index.js';
import { SCHEMA_TYPES } from '../libs/database/src/migrations/migration.js';
import { closeSql, runSql } from './raw-sqlite.js';

const ROWS = 1_000;
const COLUMNS = [
  ...[
    'root_id',
    'folder_id',
    'name',
    'path',
    'path_bytes',
    'size',
    'mtime_ns',
    'ctime_ns',
    'inode',
    'status',
  ],
  ...['skip_reason', 'error_status', 'first_scanned_at', 'last_scanned_at', 'last_scan_id'],
];

/**
 * Seconds that the two libraries alone need for what a scan leaves of its files: the same rows by sqlite3, a thousand a
 * transaction, and as many jobs by BullMQ's addBulk, at the same time. No tree is read, no lease checked, nothing marked.
 */
export async function floorSeconds(redisUrl: string, file: string, count: number): Promise<number> {
  const begun = performance.now();
  await Promise.all([insertRows(file, count), addJobs(redisUrl, count)]);
  return (performance.now() - begun) / 1000;
}

async function insertRows(file: string, count: number): Promise<void> {
  const database = new sqlite3.Database(file);
  const run = (sql: string, params?: unknown[]): Promise<void> => runSql(database, sql, params);
  database.serialize();
  for (const pragma of ['journal_mode = WAL', 'synchronous = NORMAL', 'foreign_keys = OFF'])
    await run(`PRAGMA ${pragma}`);
  for (const statement of MIGRATIONS[0]!.statements(SCHEMA_TYPES.sqlite)) await run(statement);
  const values = COLUMNS.map((_, index) => `value ->> ${index}`).join(', ');
  const insert = `INSERT INTO files (${COLUMNS.join(', ')}) SELECT ${values} FROM json_each($1) RETURNING id`;
  for (let from = 0; from < count; from += ROWS) {
    await run('BEGIN IMMEDIATE');
    await run(insert, [JSON.stringify(Array.from({ length: ROWS }, (_, index) => row(from + index)))]);
    await run('COMMIT');
  }
  await closeSql(database);
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

async function addJobs(redisUrl: string, count: number): Promise<void> {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  const queue = new Queue('floor', { connection });
  const add = async (lane: number): Promise<void> => {
    for (let from = lane * 250; from < count; from += 500)
      await queue.addBulk(Array.from({ length: 250 }, (_, index) => job(from + index)));
  };
  await Promise.all([add(0), add(1)]);
  await queue.close();
  connection.disconnect();
}

const path = (index: number): string =>
  `/tmp/tree/g${index % 50}/d${Math.floor(index / 20)}/file-${index}.txt`;

function row(index: number): (string | number | null)[] {
  const time = '1763271516123456789';
  const stat = [300, time, time, `2049:${1_000_000 + index}`];
  const marks = ['pending', null, null, 1_763_271_516_123, 1_763_271_516_123, 1];
  return [1, Math.floor(index / 20) + 1, `file-${index % 20}.txt`, path(index), null, ...stat, ...marks];
}

function job(index: number) {
  const trace = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';
  return {
    name: 'file',
    data: { filePath: path(index), fileSize: 300, fileId: index, revision: 1, trace },
    opts: { jobId: `f${index}.1`, attempts: 5, backoff: { type: 'jittered' } },
  };
}
