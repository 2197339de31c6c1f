import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** Says "ready" and waits until the file exists, so that several processes go at the same moment. */
export async function startLine(file: string): Promise<void> {
  process.stdout.write('ready\n');
  while (!existsSync(file)) await setTimeout(1);
}
