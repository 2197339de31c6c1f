import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

interface Source {
  path: string;
  text: string;
}

interface Counts {
  lines: Record<string, number>;
  files: number;
}

interface Measured {
  rooms: Record<string, number>;
  figures: Record<string, string[]>;
}

interface Ratchet {
  measure: (sources: Source[]) => Measured;
  countsOf: (measured: Measured) => Counts;
  grown: (counts: Counts, allowed: Counts) => string[];
}

const script: string = join(import.meta.dirname, '../scripts/ratchet.mjs');
const { countsOf, grown, measure } = (await import(script)) as Ratchet;

const of = (sources: Record<string, string>): Measured =>
  measure(Object.entries(sources).map(([path, text]) => ({ path, text })));
const figure = (sources: Record<string, string>, name: RegExp): string[] =>
  Object.entries(of(sources).figures).find(([key]) => name.test(key))?.[1] ?? ['no such figure'];

describe('the ratchet', () => {
  it('lets pass what is as large as allowed', () => {
    const counts = countsOf(of({ 'apps/a/src/main.ts': 'export const a = 1;\n' }));
    expect(counts).toMatchObject({
      lines: { all: 1, 'apps/a': 1 },
      files: 1,
      'exports that nobody imports': 1,
    });
    expect(grown(counts, counts)).toEqual([]);
  });

  it('names what grew, and a room that is new', () => {
    const allowed = { lines: { all: 3, 'apps/a': 2 }, files: 1 };
    expect(grown({ lines: { all: 3, 'apps/a': 3, 'libs/b': 1 }, files: 1 }, allowed)).toEqual([
      'lines of apps/a: 3, allowed 2',
      'lines of libs/b: 1, allowed 0',
    ]);
  });

  it('counts the lines of production by room, without tests and their support', () => {
    const { rooms } = of({
      'apps/a/src/main.ts': 'run();\nstop();\n',
      'apps/a/ui/style.css': 'a {}\n',
      'apps/a/src/main.spec.ts': 'it();\n',
      'libs/b/testing/rig.ts': 'rig();\n',
      'libs/b/src/hold.process.ts': 'hold();\n',
      'libs/testing/src/index.ts': 'x();\n',
    });
    expect(rooms).toEqual({ all: 3, 'apps/a': 3 });
  });

  it('finds exports that nobody imports, through the index of a room and through dynamic imports', () => {
    const unused = figure(
      {
        'libs/b/src/index.ts': "export * from './pair.js';\nexport { three } from './three.js';\n",
        'libs/b/src/pair.ts': 'export const one = 1;\nexport const two = 2;\n',
        'libs/b/src/three.ts': 'export function three() {}\nexport interface Four {}\n',
        'apps/a/src/main.ts': "import { one } from '#b';\nconst { five } = await import('./five.js');\n",
        'apps/a/src/five.ts': 'export class five {}\nexport class six {}\n',
      },
      /^exports/,
    );
    expect(unused).toEqual([
      'libs/b/src/index.ts three',
      'libs/b/src/pair.ts two',
      'libs/b/src/three.ts three',
      'libs/b/src/three.ts Four',
      'apps/a/src/five.ts six',
    ]);
  });

  it('finds small files that one other imports', () => {
    const sources = {
      'apps/a/src/main.ts': "import { small } from './small.js';\nimport { both } from './both.js';\n",
      'apps/a/src/small.ts': 'export const small = 1;\n',
      'apps/a/src/both.ts': 'export const both = 1;\n',
      'apps/a/src/both.spec.ts': "import { both } from './both.js';\n",
    };
    expect(figure(sources, /one importer/)).toEqual(['apps/a/src/small.ts → apps/a/src/main.ts']);
  });

  it('finds long functions and bags of options', () => {
    const body = 'x();\n'.repeat(25);
    const sources = {
      'apps/a/src/main.ts': `interface MainOptions {}\nclass A {\n  run() {\n${body}  }\n}\nconst f = () => 1;\n`,
    };
    expect(figure(sources, /over 25/)).toEqual(['apps/a/src/main.ts:3 (27)']);
    expect(figure(sources, /over 45/)).toEqual([]);
    expect(figure(sources, /Options/)).toEqual(['apps/a/src/main.ts MainOptions']);
  });
});
