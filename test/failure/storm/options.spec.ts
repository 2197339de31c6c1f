import { describe, expect, it } from '@jest/globals';
import { stormCommand, USAGE } from './options.js';

const parse = (...argv: string[]) => stormCommand(argv, () => 99);

describe('the options of a storm', () => {
  it('are one storm of two minutes on SQLite with a seed of chance unless told', () => {
    expect(parse()).toEqual({
      kind: 'run',
      databases: ['sqlite'],
      seeds: [99],
      files: 1_000,
      seconds: 120,
      hosts: false,
    });
  });

  it('name the seed, its followers, or a range', () => {
    expect(parse('--seed', '7')).toMatchObject({ seeds: [7] });
    expect(parse('--seed', '7', '--runs', '3')).toMatchObject({ seeds: [7, 8, 9] });
    expect(parse('--seeds', '3..5')).toMatchObject({ seeds: [3, 4, 5] });
    expect(parse('--seeds', '3..3')).toMatchObject({ seeds: [3] });
  });

  it('take both databases, part of a minute and a folder for logs', () => {
    expect(parse('--database', 'both', '--minutes', '0.25', '--files', '20', '--logs', 'x')).toMatchObject({
      databases: ['sqlite', 'postgres'],
      seconds: 15,
      files: 20,
      logs: 'x',
    });
  });

  it('take PostgreSQL where there are hosts', () => {
    expect(parse('--hosts')).toMatchObject({ hosts: true, databases: ['postgres'] });
  });

  it('help, whatever else is asked', () => {
    expect(parse('--help', '--seed', '7')).toEqual({ kind: 'help' });
    expect(USAGE).toContain('--seeds A..B');
  });

  it.each([
    [['--database', 'mysql'], '--database'],
    [['--hosts', '--database', 'sqlite'], '--hosts'],
    [['--hosts', '--database', 'both'], '--hosts'],
    [['--seed', 'seven'], '--seed'],
    [['--seed', ''], '--seed'],
    [['--seed', '1.5'], '--seed'],
    [['--seed', '1e3'], '--seed'],
    [['--runs', '0'], '--runs'],
    [['--seeds', '5'], '--seeds'],
    [['--seeds', '5..3'], '--seeds'],
    [['--seeds', '1..2..3'], '--seeds'],
    [['--seeds', '1..999999'], '--seeds'],
    [['--seeds', '1..3', '--seed', '1'], '--seeds'],
    [['--minutes', 'two'], '--minutes'],
    [['--minutes', '0'], '--minutes'],
    [['--minutes', 'Infinity'], '--minutes'],
    [['--files', 'many'], '--files'],
    [['--files', '0'], '--files'],
    [['--file', '3'], '--file'],
    [['--seed'], '--seed'],
    [['more'], 'more'],
  ])('are refused by name: %j', (argv, named) => {
    const command = parse(...argv);
    expect(command.kind === 'refused' && command.message).toContain(named);
  });
});
