import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { CLI_EXIT, CliError, UsageError } from '../cli.errors.js';

export interface KeyOptions {
  keyFile?: string;
  keyStdin?: boolean;
}

const MAX_KEY = 512;

/** The key from the file or the stream that was named, else the configured one. Never from an argument: `ps` shows those. */
export async function keyOf(
  { keyFile, keyStdin }: KeyOptions,
  configured: string | undefined,
): Promise<string | undefined> {
  if (keyFile !== undefined && keyStdin)
    throw new UsageError('--key-file and --key-stdin are two keys; give one');
  if (keyFile !== undefined) return checked(await readKeyFile(keyFile), keyFile);
  return keyStdin ? checked(await text(process.stdin), 'standard input') : configured;
}

/** What is given with `-`, unless the key comes that way. */
export function readInput(what: string, { keyStdin }: KeyOptions): Promise<string> {
  if (!keyStdin) return text(process.stdin);
  throw new UsageError(
    `standard input cannot hold both key and ${what}; use --key-file or MILLRACE_DLQ_API_KEY`,
  );
}

async function readKeyFile(path: string): Promise<string> {
  const file = await open(path, 'r').catch((error: unknown) => {
    const reason = (error as Error).message;
    throw new CliError(`the key file ${path} cannot be read: ${reason}`, CLI_EXIT.noInput, error);
  });
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new CliError(`the key file ${path} is not a file`, CLI_EXIT.noInput);
    if ((found.mode & 0o077) !== 0)
      throw new UsageError(
        `others may read the key file ${path} (mode ${(found.mode & 0o777).toString(8)}); make it yours alone: chmod 600 ${path}`,
      );
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_KEY + 2) });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

function checked(given: string, origin: string): string {
  const key = given.trim();
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_KEY) return key;
  throw new UsageError(
    `there is no key in ${origin}; it must hold one key and nothing else, as \`millrace keys create\` printed it`,
  );
}
