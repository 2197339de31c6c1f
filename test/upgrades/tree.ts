/** The tree of the dumps: six files that are two to a batch of `BUDGET` tokens. */
export const FILES = ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt', 'f.txt'];
export const BUDGET = '1000';

export const contentOf = (name: string): string => `${name} is a line of words\n`.repeat(60);
