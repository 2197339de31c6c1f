import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const text = readFileSync('ARCHITECTURE.md', 'utf8');
const sources = ['apps', 'libs']
  .flatMap((room) => readdirSync(room, { recursive: true, encoding: 'utf8' }).map((file) => join(room, file)))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('spec.ts'))
  .map((file) => readFileSync(file, 'utf8'));

const named = (form: RegExp): string[] =>
  [...text.matchAll(form)].map((match) => match.slice(1).filter(Boolean).join('.'));

/** Whether a class of this name has a method of that one. */
function hasMethod(name: string): boolean {
  const [type, method] = name.split('.');
  const declared = new RegExp(`class ${type}\\b`);
  const member = new RegExp(`^  (?:(?:static|async|readonly) )*${method}\\b`, 'm');
  return sources.some((source) => declared.test(source) && member.test(source));
}

function isDeclared(name: string): boolean {
  const declared = new RegExp(`(?:class|function|interface|const) ${name}\\b`);
  return sources.some((source) => declared.test(source));
}

describe('ARCHITECTURE.md', () => {
  it('is a page that can be read at one sitting', () => {
    expect(text.split('\n').length).toBeLessThan(150);
  });

  it('names rooms that exist, and every room', () => {
    const rooms = named(/^\| `((?:apps|libs)\/[\w-]+)` \|/gm);
    const there = ['apps', 'libs'].flatMap((room) =>
      readdirSync(room, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `${room}/${name}`),
    );
    expect(rooms.sort()).toEqual(there.sort());
  });

  it('names methods that their classes have', () => {
    const methods = named(/`([A-Z]\w+)\.([a-z]\w+)`/g);
    expect(methods.length).toBeGreaterThan(25);
    expect(methods.filter((name) => !hasMethod(name))).toEqual([]);
  });

  it('names classes, functions and files that exist', () => {
    const names = [...named(/`([A-Z][a-z]\w+)`/g), ...named(/`([a-z]+[A-Z]\w+)`/g)];
    const files = named(/`((?:libs|apps|test|docs|scripts)\/[\w./-]+|[\w.-]+\.mjs)`/g);
    expect(names.filter((name) => !isDeclared(name))).toEqual([]);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });
});
