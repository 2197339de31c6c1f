import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const ROW = /^\| (?<line>.+?) \| `(?<source>[^`]+)` \| `(?<spec>[^`]+)` › (?<title>.+?) \| .*\|$/;

const rows = readFileSync('docs/seeds.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (line|---) /.test(line));

describe('docs/seeds.md', () => {
  it('has a source, a test and its title in every row', () => {
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter((row) => !ROW.test(row))).toEqual([]);
  });

  it('names only files and tests that exist', () => {
    const missing = rows.flatMap((row) => {
      const { source = '', spec = '', title = '' } = ROW.exec(row)?.groups ?? {};
      if (!existsSync(source)) return [source];
      if (!existsSync(spec)) return [spec];
      return hasTest(readFileSync(spec, 'utf8'), title) ? [] : [`${spec} › ${title}`];
    });
    expect(missing).toEqual([]);
  });
});

/** As the first argument of a call, so that no comment passes for a test. */
function hasTest(text: string, title: string): boolean {
  return (
    ["'", '`', '"'].some((quote) => text.includes(`(${quote}${title}${quote},`)) || multiline(text, title)
  );
}

function multiline(text: string, title: string): boolean {
  return text.split('\n').some((line) => [`'${title}',`, `\`${title}\`,`].includes(line.trim()));
}
