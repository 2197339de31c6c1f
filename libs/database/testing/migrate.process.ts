import { createLogger } from '#service';
import { createDatabase } from '../src/database.fixture.js';
import { startLine } from './start-line.process.js';

// Test program: <url> <start file>. Starts and stops a database, which migrates it; the log tells who did.
const [url = '', startFile = ''] = process.argv.slice(2);
const logger = createLogger({ service: 'migrate', workerId: String(process.pid), level: 'info' });
const database = createDatabase(url, { logger, poolSize: 2 });
await startLine(startFile);
await database.start();
await database.stop();
