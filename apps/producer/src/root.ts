import { accessSync, constants, lstatSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { databaseFiles } from '#database';
import { faultCode, identityText, joinPath } from '#files';
import type { ListingRules } from '#tree';
import type { ProducerConfig } from './producer.config.js';
import { RootUnusableError } from './producer.errors.js';

/** The directory to scan by its real path, so that one tree has one name however it is reached. */
export function locateRoot(target: string): Buffer {
  try {
    const path = realpathSync(resolve(target), { encoding: 'buffer' });
    if (!statSync(path).isDirectory()) throw new RootUnusableError(target, 'is not a directory');
    accessSync(path, constants.R_OK | constants.X_OK);
    return path;
  } catch (error) {
    if (error instanceof RootUnusableError) throw error;
    throw new RootUnusableError(target, `cannot be read (${faultCode(error)})`, error);
  }
}

export function listingRules(config: ProducerConfig, root: Buffer, databaseUrl: string): ListingRules {
  const own = [...config.EXCLUDE_PATHS, ...databaseFiles(databaseUrl)];
  return {
    root: root.toString('base64'),
    mode: config.SCAN_MODE,
    include: config.INCLUDE,
    exclude: config.EXCLUDE,
    maxFileBytes: config.MAX_FILE_BYTES,
    hidden: config.HIDDEN,
    gitignore: config.GITIGNORE,
    followSymlinks: config.FOLLOW_SYMLINKS,
    excludedIdentities: own.flatMap(identities),
    excludedPaths: own.map((path) => realPath(resolve(path)).toString('latin1')),
  };
}

/** What a scan looks for, without where the excluded things happen to lie: equal rules, equal text. */
export function rulesText(rules: ListingRules): string {
  return JSON.stringify({
    ...rules,
    root: undefined,
    excludedIdentities: undefined,
    excludedPaths: undefined,
  });
}

/** The real path of what may not be there yet. */
function realPath(path: string): Buffer {
  try {
    return realpathSync(path, { encoding: 'buffer' });
  } catch {
    return path === dirname(path)
      ? Buffer.from(path)
      : joinPath(realPath(dirname(path)), Buffer.from(basename(path)));
  }
}

/** By identity, not by name: links and mounts lead to it by other names. */
function identities(path: string): string[] {
  const stat = lstatSync(resolve(path), { bigint: true, throwIfNoEntry: false });
  return stat ? [identityText(stat)] : [];
}
