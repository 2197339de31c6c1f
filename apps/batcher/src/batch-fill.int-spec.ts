import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { get_encoding } from 'tiktoken';
import { formatOf, renderBatch, shownPath, type EnvelopeName, type LoadedFile } from '#envelope';
import { tempFolder, type TempFolder } from '#testing';
import { Packer, type Bin } from './packer.js';
import { FileCounter } from './reading/file-counter.js';
import type { Part } from './reading/read-outcome.js';

const MAX_TOKENS = 10_000;
const NAMES: readonly EnvelopeName[] = ['markdown', 'xml', 'jsonl', 'json'];
const ID = '01234567-89ab-7cde-8f01-23456789abcd';

interface CountedPart {
  path: string;
  part: Part;
  index: number;
  parts: number;
}

describe('batches as written, by tiktoken', () => {
  let folder: TempFolder;
  const tiktoken = get_encoding('o200k_base');
  beforeAll(async () => {
    folder = await tempFolder('fill');
    tinyTree(join(folder.path, 'tiny'), 1_500);
    textTree(join(folder.path, 'text'));
  });
  afterAll(() => folder.remove());

  it.each(NAMES.flatMap((name) => (['tiny', 'text'] as const).map((tree) => [name, tree] as const)))(
    'are full and never over in %s: a tree of %s files',
    (name, tree) => {
      const root = join(folder.path, tree);
      const bins = pack(name, root);
      const fills = bins.map((bin) => tiktoken.encode_ordinary(written(name, root, bin)).length / MAX_TOKENS);
      expect(fills.filter((fill) => fill > 1)).toEqual([]);
      const full = fills.sort((a, b) => b - a).slice(0, -1);
      expect(full.length).toBeGreaterThan(5);
      expect(full.reduce((sum, fill) => sum + fill, 0) / full.length).toBeGreaterThanOrEqual(0.95);
    },
  );
});

function pack(name: EnvelopeName, root: string): Bin<CountedPart>[] {
  const maxTokens = MAX_TOKENS - formatOf(name).batchTokens;
  const counter = new FileCounter({
    ...{ encoding: 'o200k_base', format: name, pathBase: root },
    ...{ maxTokens: MAX_TOKENS, maxFileBytes: 1e9 },
  });
  const packer = new Packer<CountedPart>({ maxTokens, maxItems: 5_000, openBins: 8 });
  const bins = readdirSync(root, { recursive: true, encoding: 'utf8' }).flatMap((path) => {
    const outcome = counter.read({
      root: { text: root, bytes: null },
      path: { text: join(root, path), bytes: null },
      followLinks: false,
    });
    if (outcome.kind !== 'text') return [];
    return outcome.parts.flatMap((part, index) =>
      packer.add({
        ...{ tokens: part.cost, at: 0 },
        value: { path: join(root, path), part, index: index + 1, parts: outcome.parts.length },
      }),
    );
  });
  return [...bins, ...packer.flush()];
}

function written(name: EnvelopeName, root: string, { items, tokens }: Bin<CountedPart>): string {
  const files = items.map(({ value: { path, part, index, parts } }): LoadedFile => {
    const bytes = readFileSync(path).subarray(part.start, part.end);
    return { path: shownPath(path, root), bytes, file: { ...part, part: index, parts } };
  });
  return Buffer.concat(renderBatch(name, ID, tokens, files)).toString();
}

function tinyTree(root: string, files: number): void {
  for (let n = 0; n < files; n++) {
    const folder = join(root, `module-${n % 40}`);
    mkdirSync(folder, { recursive: true });
    const words = Array.from({ length: 6 }, (_, word) => `const value${(n * 7 + word) % 100} = ${n + word};`);
    writeFileSync(join(folder, `file-${n}.ts`), `${words.join('\n')}\n`.slice(0, 150));
  }
}

/** Our own sources, with some that text formats have to escape, or cut. */
function textTree(root: string): void {
  mkdirSync(root, { recursive: true });
  const sources = ['apps/batcher', 'apps/analyzer', 'libs/envelope', 'libs/tokens', 'libs/outbox'].flatMap(
    (room) => readdirSync(room, { recursive: true, encoding: 'utf8' }).map((path) => join(room, path)),
  );
  for (const [n, path] of sources.filter((path) => path.endsWith('.ts')).entries())
    writeFileSync(join(root, `${n}.ts`), readFileSync(path));
  const latin1 = Buffer.from('Größe und Übermaß: "naïve" café\n'.repeat(400), 'latin1');
  writeFileSync(join(root, 'latin1.txt'), latin1);
  writeFileSync(join(root, 'quotes.json'), JSON.stringify({ text: 'a "b" \\ \u0001 '.repeat(2_000) }));
  writeFileSync(join(root, 'pages.c'), 'int main(void) { return 0; }\n\f\n'.repeat(900));
  writeFileSync(join(root, 'long.md'), '```js\nlet a = [[1]]>0;\n```\n'.repeat(2_000));
}
