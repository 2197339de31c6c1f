import { describe, expect, it } from '@jest/globals';
import ignoreFactory, { type Ignore } from 'ignore';
import { EntryFilter } from './entry-filter.js';
import type { ListingRules } from './listing.js';
import type { ChainLink } from './rule-chain.js';

const ignore = ignoreFactory as unknown as (options: object) => Ignore;

const RULES: ListingRules = {
  root: '',
  mode: 'all',
  include: [],
  exclude: [],
  maxFileBytes: 1000,
  hidden: true,
  gitignore: true,
  followSymlinks: false,
  excludedIdentities: [],
  excludedPaths: [],
};

function link(rules?: string, parent?: ChainLink): ChainLink {
  return {
    identity: '',
    parent,
    depth: parent ? parent.depth + 1 : 0,
    ruled: rules !== undefined || parent?.ruled === true,
    rules: rules === undefined ? undefined : ignore({ ignorecase: false }).add(rules),
  };
}

function reason(path: string, rules: Partial<ListingRules> = {}, chain = link()): string | undefined {
  const folder = path.endsWith('/');
  const segments = path.replace(/\/$/, '').split('/');
  const name = segments.at(-1) ?? '';
  return new EntryFilter({ ...RULES, ...rules }).leaveOut({ segments: () => segments, name, folder }, chain);
}

describe('entry filter', () => {
  it('keeps everything without rules, hidden names too', () => {
    expect(reason('a/.env')).toBeUndefined();
    expect(reason('a/b/')).toBeUndefined();
  });

  it('leaves hidden names out when told so', () => {
    expect(reason('a/.env', { hidden: false })).toBe('hidden');
    expect(reason('.cache/', { hidden: false })).toBe('hidden');
    expect(reason('a/env', { hidden: false })).toBeUndefined();
  });

  it('never enters .git while git rules count', () => {
    expect(reason('sub/.git/')).toBe('ignored');
    expect(reason('sub/.git/', { gitignore: false })).toBeUndefined();
  });

  it('matches an include without a slash at any depth, and asks it of files only', () => {
    expect(reason('deep/down/a.ts', { include: ['*.ts'] })).toBeUndefined();
    expect(reason('deep/down/a.js', { include: ['*.ts'] })).toBe('not-included');
    expect(reason('deep/', { include: ['*.ts'] })).toBeUndefined();
  });

  it('matches a pattern with a slash from the root', () => {
    expect(reason('src/a.ts', { include: ['src/**'] })).toBeUndefined();
    expect(reason('lib/src/a.ts', { include: ['src/**'] })).toBe('not-included');
  });

  it('leaves excluded files and folders out, include or not', () => {
    expect(reason('a/node_modules/', { exclude: ['node_modules/'] })).toBe('excluded');
    expect(reason('a/b.min.js', { exclude: ['*.min.js'], include: ['*.js'] })).toBe('excluded');
  });

  it('follows ignore rules from where they stand, the deeper file first', () => {
    const top = link('*.log\n/build/\n');
    const sub = link('!keep.log\n', top);
    expect(reason('x.log', {}, top)).toBe('ignored');
    expect(reason('sub/x.log', {}, sub)).toBe('ignored');
    expect(reason('sub/keep.log', {}, sub)).toBeUndefined();
    expect(reason('build/', {}, top)).toBe('ignored');
    expect(reason('sub/build/', {}, sub)).toBeUndefined();
  });

  it('tells folders from files where the rule does', () => {
    const top = link('out/\n');
    expect(reason('out/', {}, top)).toBe('ignored');
    expect(reason('out', {}, top)).toBeUndefined();
  });

  it('respects the case of names', () => {
    expect(reason('README', {}, link('readme'))).toBeUndefined();
  });
});
