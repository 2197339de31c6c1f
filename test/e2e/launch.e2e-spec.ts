import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT, withTempFolder } from '#testing';

/** A program and its launcher, as a build lays them out. */
function layOut(folder: string, program: string): void {
  copyFileSync(join(PROJECT_ROOT, 'apps/launch.js'), join(folder, 'main.mjs'));
  writeFileSync(join(folder, 'app.cjs'), program);
}

function start(folder: string, ...flags: string[]): string {
  return execFileSync(process.execPath, [...flags, join(folder, 'main.mjs')], { encoding: 'utf8' }).trim();
}

function kept(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cache'))
    .map((name) => join(folder, name));
}

describe('the launcher of an app', () => {
  it('keeps the compiled code of the first start and uses it at the second', () =>
    withTempFolder((folder) => {
      layOut(folder, 'console.log(require("./part.cjs").word)');
      writeFileSync(join(folder, 'part.cjs'), 'module.exports = { word: "one" }');

      expect(start(folder)).toBe('one');
      const files = kept(folder);
      const written = files.map((file) => statSync(file).ino);
      expect(files).toHaveLength(2);

      expect(start(folder)).toBe('one');
      expect(kept(folder).map((file) => statSync(file).ino)).toEqual(written);
    }));

  it('runs the program that is there now, even one of the same length', () =>
    withTempFolder((folder) => {
      layOut(folder, 'console.log("one")');
      start(folder);
      layOut(folder, 'console.log("two")');

      expect(start(folder)).toBe('two');
    }));

  it('keeps code for each set of flags', () =>
    withTempFolder((folder) => {
      layOut(folder, 'console.log("one")');
      start(folder);

      expect(start(folder, '--no-opt')).toBe('one');
      expect(kept(folder)).toHaveLength(2);
    }));

  it('compiles anew what was kept in part', () =>
    withTempFolder((folder) => {
      layOut(folder, 'console.log("one")');
      start(folder);
      const [file = ''] = kept(folder);
      const { size } = statSync(file);
      truncateSync(file, size - 8);

      expect(start(folder)).toBe('one');
      expect(statSync(file).size).toBe(size);
    }));

  it('starts where nothing can be kept', () =>
    withTempFolder((folder) => {
      layOut(folder, 'console.log("one")');
      start(folder);
      const [file = ''] = kept(folder);
      rmSync(file);
      mkdirSync(file);

      expect(start(folder)).toBe('one');
    }));

  it('tells where in the program an error arose', () =>
    withTempFolder((folder) => {
      layOut(folder, '\nconsole.log(new Error("here").stack.split("\\n")[1])');

      expect(start(folder)).toMatch(/app\.cjs:2:13\)?$/);
    }));
});
