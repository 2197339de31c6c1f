import 'reflect-metadata';
import { createProgram } from '../../apps/cli/src/program.js';
import { reported } from '../../apps/cli/src/cli.errors.js';
import type { CliOrder, CliResult } from './cli-host.js';

// Runs commands of `millrace` one after another, each as its main would, with what it prints taken down.
const write = (stream: NodeJS.WriteStream, take: (text: string) => void): void => {
  stream.write = (text: string | Uint8Array) => {
    take(String(text));
    return true;
  };
};

async function run({ args, env }: CliOrder): Promise<CliResult> {
  const result: CliResult = { code: 0, stdout: '', stderr: '' };
  write(process.stdout, (text) => (result.stdout += text));
  write(process.stderr, (text) => (result.stderr += text));
  const before = { ...process.env };
  Object.assign(process.env, env);
  process.exitCode = 0;
  try {
    await createProgram().parseAsync([...args], { from: 'user' });
  } catch (error) {
    process.exitCode = reported(error);
  } finally {
    process.env = before;
  }
  return { ...result, code: Number(process.exitCode) };
}

let turn = Promise.resolve();
process.on('message', (order: CliOrder) => {
  turn = turn.then(async () => void process.send?.(await run(order)));
});
