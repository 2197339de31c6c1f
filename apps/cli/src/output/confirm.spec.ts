import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { CliError } from '../cli.errors.js';
import { confirm, type Terminal } from './confirm.js';

function terminal(isTTY: boolean): Terminal & { input: PassThrough; output: PassThrough } {
  return {
    input: Object.assign(new PassThrough(), { isTTY }),
    output: Object.assign(new PassThrough(), { isTTY }),
  };
}

describe('a question before a change', () => {
  it.each([
    ['y\n', true],
    ['YES\n', true],
    ['\n', false],
    ['no\n', false],
    ['yesterday\n', false],
    ['\u0003', false],
    ['\u0004', false],
  ])('answered with %j is %s', async (answer, expected) => {
    const at = terminal(true);
    const asked = confirm('requeue 3 letters?', false, at);
    at.input.write(answer);
    expect(await asked).toBe(expected);
    expect(String(at.output.read())).toContain('requeue 3 letters? [y/N]');
  });

  it('is a no when the input ends', async () => {
    const at = terminal(true);
    const asked = confirm('sure?', undefined, at);
    at.input.end();
    expect(await asked).toBe(false);
  });

  it('is not asked with --yes', async () => {
    expect(await confirm('sure?', true, terminal(false))).toBe(true);
  });

  it('is an error that names --yes where nobody can answer', async () => {
    const refused = await confirm('sure?', false, terminal(false)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CliError);
    expect(refused).toMatchObject({ exitCode: 64, message: expect.stringContaining('--yes') });
  });
});
