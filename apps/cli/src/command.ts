import type { Command } from 'commander';
import { UsageError } from './cli.errors.js';
import { json, type OutputFormat } from './output/table.js';
import type { GlobalOptions } from './settings.js';

/** The action of a command, called with every option, those of the commands above it included, and its arguments. */
export function acting<Options extends object = GlobalOptions, Given extends unknown[] = string[]>(
  act: (options: Options, ...given: Given) => unknown,
) {
  return async (...words: unknown[]): Promise<void> => {
    const command = words.at(-1) as Command;
    await act(command.optsWithGlobals<Options>(), ...(words.slice(0, -2) as Given));
  };
}

/** Prints the answer of a command as its user asked for it. */
export function print<T>(
  { output }: { output: OutputFormat },
  answer: T,
  report: (answer: T) => string,
): void {
  process.stdout.write(output === 'json' ? json(answer) : report(answer));
}

/** The parser of an option that counts something. */
export const whole = (option: string, least: number, most: number) => (text: string) => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${option}: found "${text}", allowed is a whole number from ${least} to ${most}`);
};

/** Ctrl-C and SIGTERM end the command in order; a second Ctrl-C changes nothing, the end is bounded. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  return stop.signal;
}
