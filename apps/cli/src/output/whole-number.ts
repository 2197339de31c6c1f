import { CLI_EXIT, CliError } from '../cli.errors.js';

/** The value of an option that counts something. */
export function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new CliError(
    `${option}: found "${text}", allowed is a whole number from ${least} to ${most}`,
    CLI_EXIT.usage,
  );
}
