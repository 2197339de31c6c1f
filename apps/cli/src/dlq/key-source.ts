import { open, type FileHandle } from 'node:fs/promises';
import { CLI_EXIT, CliError } from '../cli.errors.js';

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
    throw new CliError('--key-file and --key-stdin are two keys; give one', CLI_EXIT.usage);
  if (keyFile !== undefined) return checked(await readKeyFile(keyFile), keyFile);
  return keyStdin ? checked(await readAll(process.stdin), 'standard input') : configured;
}

async function readKeyFile(path: string): Promise<string> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw new CliError(
      `the key file ${path} cannot be read: ${(error as Error).message}`,
      CLI_EXIT.noInput,
      error,
    );
  });
  try {
    await requirePrivate(file, path);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_KEY + 2) });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function requirePrivate(file: FileHandle, path: string): Promise<void> {
  const found = await file.stat();
  if (!found.isFile()) throw new CliError(`the key file ${path} is not a file`, CLI_EXIT.noInput);
  if ((found.mode & 0o077) !== 0)
    throw new CliError(
      `others may read the key file ${path} (mode ${(found.mode & 0o777).toString(8)}); make it yours alone: chmod 600 ${path}`,
      CLI_EXIT.usage,
    );
}

export async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function checked(text: string, origin: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_KEY) return key;
  throw new CliError(
    `there is no key in ${origin}; it must hold one key and nothing else, as \`millrace keys create\` printed it`,
    CLI_EXIT.usage,
  );
}
