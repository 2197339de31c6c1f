import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGES = join(import.meta.dirname, '../node_modules');
const SIZE = 2_000_000;
const LARGEST_FILE = 300_000;

/** What a tree of files holds: source code, prose, data, and text that is not English. */
export function benchTexts(): Record<string, string> {
  return {
    javascript: filesEnding('.js'),
    declarations: filesEnding('.d.ts'),
    markdown: filesEnding('.md'),
    json: filesEnding('.json'),
    multilingual: multilingual(),
  };
}

/** Files of the installed packages up to `SIZE`, without the two characters on which gpt-tokenizer miscounts. */
function filesEnding(suffix: string): string {
  const texts: string[] = [];
  let size = 0;
  for (const path of filesUnder(PACKAGES)) {
    if (!path.endsWith(suffix)) continue;
    const text = readFileSync(path, 'utf8').replace(/[\ufeff\u0085]/g, '');
    if (text.length > LARGEST_FILE) continue;
    texts.push(text);
    size += text.length;
    if (size >= SIZE) break;
  }
  return texts.join('\n');
}

function* filesUnder(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesUnder(path);
    else if (entry.isFile()) yield path;
  }
}

/** TypeScript's messages in thirteen languages, the values only. */
function multilingual(): string {
  const folder = join(PACKAGES, 'typescript/lib');
  const languages = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const messages = languages.map(({ name }) => join(folder, name, 'diagnosticMessages.generated.json'));
  return messages
    .flatMap((path) => Object.values(JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>))
    .join('\n')
    .replace(/[\ufeff\u0085]/g, '');
}
