import { setTimeout } from 'node:timers/promises';
import { DataSource } from 'typeorm';

// Test program: <path> <ms>. A foreign process that holds SQLite's write lock for a while.
const [path = '', ms = ''] = process.argv.slice(2);
const source = await new DataSource({ type: 'sqlite', database: path, busyTimeout: 10_000 }).initialize();
await source.query('BEGIN IMMEDIATE');
process.stdout.write('locked\n');
await setTimeout(Number(ms));
await source.query('COMMIT');
await source.destroy();
