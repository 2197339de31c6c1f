import { describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import type { Command } from 'commander';
import { createProgram } from './program.js';

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)];

const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();

function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return help;
}

describe('the help of', () => {
  it.each(everyCommand(createProgram()).map((command) => [nameOf(command), command] as const))(
    '%s tells its exit codes once, and what each option may be',
    (_, command) => {
      const help = helpOf(command);
      expect(help.match(/Exit codes: 0 /g)).toHaveLength(1);
      for (const { argChoices } of command.options)
        for (const choice of argChoices ?? []) expect(help).toContain(`"${choice}"`);
    },
  );
});

describe('completion', () => {
  /** What bash offers for the last word of a line. */
  function offered(script: string, ...words: string[]): string[] {
    const line = words.map((word) => `'${word}'`).join(' ');
    const ask = `COMP_WORDS=(millrace ${line}); COMP_CWORD=${words.length}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['--norc', '-c', `${script}\n${ask}`], { encoding: 'utf8', cwd: '/' })
      .split('\n')
      .filter(Boolean);
  }
  async function scriptFor(shell: string): Promise<string> {
    const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await createProgram().parseAsync(['node', 'millrace', 'completion', '--shell', shell]);
      return write.mock.calls.map(([text]) => String(text)).join('');
    } finally {
      write.mockRestore();
    }
  }

  it('offers commands, options also after a positional, choices, and files for other values', async () => {
    const script = await scriptFor('bash');
    expect(offered(script, 'dl')).toEqual(['dlq']);
    expect(offered(script, 'dlq', 'gr')).toEqual(['groups', 'group']);
    expect(offered(script, 'dlq', 'group', '1f0c', '--m')).toEqual(['--mute']);
    expect(offered(script, 'run', '/data', '--max')).toEqual(['--max-tokens']);
    expect(offered(script, 'run', '/data', '--format', '')).toEqual(['markdown', 'xml', 'jsonl']);
    expect(offered(script, '-o', '')).toEqual(['table', 'json']);
    expect(offered(script, 'dlq', 'list', '--output', 'j')).toEqual(['json']);
    expect(offered(script, 'dlq', 'list', '--status', 're')).toEqual(['requeued', 'resolved']);
    expect(offered(script, 'run', '--out', '/etc/host')).toContain('/etc/hosts');
  });

  it('is the same for zsh, and for fish a line for each word with what it does', async () => {
    expect(await scriptFor('zsh')).toContain(await scriptFor('bash'));
    const fish = await scriptFor('fish');
    expect(fish).toContain(`-n '__millrace_at "/dlq"' -a groups -d 'causes of failure, the largest first'`);
    expect(fish).toMatch(/__millrace_at "\/dlq\/list"' -l status -x -a 'open requeued resolved discarded'/);
    expect(fish.split('\n').filter((line) => (line.match(/(?<!\\)'/g) ?? []).length % 2 === 1)).toEqual([]);
  });
});
