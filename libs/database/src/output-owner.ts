import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '#service';
import { outputOwned } from './database.errors.js';

/** Whose batches lie in an output folder. */
export interface OutputOwner {
  pipeline: string;
  /** Where its tables are, without secrets. */
  database: string;
}

/** In the output folder: names the owner. */
const OWNER_FILE = '.millrace.json';

/**
 * Makes a folder that is there this pipeline's own: of many that come at once, one gets it. Throws OUTPUT_OWNED when it
 * is another's, unless that one's tables are gone or are the ones that this pipeline has now. What the file system
 * refuses is no answer: whoever writes batches there will tell.
 */
export async function claimOutput(folder: string, owner: OutputOwner): Promise<void> {
  const file = join(folder, OWNER_FILE);
  const aside = join(folder, `.millrace-${owner.pipeline}-${randomBytes(6).toString('hex')}.part`);
  try {
    await writeFile(aside, `${JSON.stringify(owner)}\n`, { flag: 'wx', mode: 0o600 });
    await link(aside, file).catch(async (error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
      const found = await readOwner(file);
      if (found && found.pipeline !== owner.pipeline && !isGone(found, owner))
        throw outputOwned(folder, found, owner);
      if (found?.pipeline !== owner.pipeline) await rename(aside, file);
    });
  } catch (error) {
    if (errorCode(error) === 'OUTPUT_OWNED') throw error;
  } finally {
    await rm(aside, { force: true }).catch(() => {});
  }
}

async function readOwner(file: string): Promise<OutputOwner | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as OutputOwner;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isGone(found: OutputOwner, owner: OutputOwner): boolean {
  if (found.database === owner.database) return true;
  return found.database.startsWith('sqlite:') && !existsSync(found.database.slice('sqlite:'.length));
}
