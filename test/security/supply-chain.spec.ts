import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SECRET_RULES } from '../../libs/service/src/secret-rules.js';

interface Locked {
  version: string;
  resolved?: string;
  integrity?: string;
  license?: string;
  link?: boolean;
  dev?: boolean;
  hasInstallScript?: boolean;
}

interface Advisory {
  package: string;
  /** Versions that have the hole, as npm writes ranges. */
  vulnerable: string;
  severity: string;
  id: string;
}

interface Refresh {
  versionsOf: (lock: object) => Record<string, string[]>;
  ask: (registry: string, versions: Record<string, string[]>) => Promise<Advisory[]>;
  merged: (known: readonly Advisory[], found: readonly Advisory[]) => Advisory[];
}

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
const packages = Object.entries(lock.packages).filter(([path, { link }]) => path !== '' && !link);
const nameOf = (path: string): string => path.split('node_modules/').at(-1) ?? path;

/** As the registry told when it was last asked (`npm run audit:refresh`), and some that were written down by hand. */
const SNAPSHOT = JSON.parse(read('test/security/advisories.json')) as {
  /** The day; null: never, only what was written down by hand. */
  asked: string | null;
  advisories: Advisory[];
};

// MIT by their licence files; their package.json says it in an outdated form.
const UNMARKED = ['busboy', 'streamsearch'];
const LICENCES =
  /^\(?(MIT|MIT-0|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0|CC0-1\.0|CC-BY-4\.0|Python-2\.0|Unlicense|WTFPL|Zlib|PostgreSQL|MPL-2\.0)( (OR|AND) [\w.-]+)*\)?$/;

/** Of npm's ranges, what advisories use: comparisons that all hold, and alternatives. */
function satisfies(version: string, range: string): boolean {
  return range.split('||').some((alternative) =>
    alternative
      .trim()
      .split(/\s+(?=[<>=\d*])/)
      .every((part) => compares(version, part)),
  );
}

function compares(version: string, part: string): boolean {
  const [, operator = '', wanted = ''] = /^(<=|>=|<|>|=)?\s*(\S+)$/.exec(part) ?? [];
  if (wanted === '*') return true;
  const order = version.localeCompare(wanted, 'en', { numeric: true });
  if (operator.startsWith('<')) return operator === '<=' ? order <= 0 : order < 0;
  if (operator.startsWith('>')) return operator === '>=' ? order >= 0 : order > 0;
  return order === 0;
}

describe('the supply chain', () => {
  it('takes every package by its hash, from a registry that is reached by https', () => {
    expect(packages.filter(([, { integrity }]) => !integrity).map(([path]) => path)).toEqual([]);
    const odd = packages.filter(
      ([, { resolved }]) => resolved !== undefined && !resolved.startsWith('https://'),
    );
    expect(odd).toEqual([]);
  });

  it('runs install scripts only of packages that were looked at', () => {
    const { allowScripts } = JSON.parse(read('package.json')) as { allowScripts: Record<string, boolean> };
    const scripted = packages.filter(([, one]) => one.hasInstallScript).map(([path]) => nameOf(path));
    expect([...new Set(scripted)].filter((name) => !(name in allowScripts))).toEqual([]);
    // Then npm fails an install that would run another.
    expect(read('.npmrc')).toMatch(/^strict-allow-scripts=true$/m);
  });

  it('ships a CycloneDX bill of all that is in the image, under licences that we know', () => {
    const bom = JSON.parse(
      execFileSync(process.execPath, [join(ROOT, 'scripts/sbom.mjs')], { encoding: 'utf8', maxBuffer: 1e8 }),
    ) as {
      bomFormat: string;
      components: { name: string; version: string; purl: string; licenses?: { expression: string }[] }[];
    };
    const shipped = packages.filter(([, { dev }]) => !dev);
    expect([bom.bomFormat, bom.components.length]).toEqual(['CycloneDX', shipped.length]);
    expect(bom.components.find(({ name }) => name === 'bullmq')?.purl).toMatch(
      /^pkg:npm\/bullmq@\d+\.\d+\.\d+$/,
    );
    const strange = bom.components.filter(
      ({ name, licenses }) => !UNMARKED.includes(name) && !LICENCES.test(licenses?.[0]?.expression ?? ''),
    );
    expect(strange.map(({ name, licenses }) => `${name}: ${licenses?.[0]?.expression}`)).toEqual([]);
  });

  it('has no package that a known advisory names, without asking anybody, and says how old that knowledge is', () => {
    const hit = packages.flatMap(([path, { version }]) =>
      SNAPSHOT.advisories
        .filter((one) => one.package === nameOf(path) && satisfies(version, one.vulnerable))
        .map(({ id, vulnerable }) => `${path} ${version}: ${id} (${vulnerable})`),
    );
    expect(hit).toEqual([]);
    const days =
      SNAPSHOT.asked === null ? null : Math.floor((Date.now() - Date.parse(SNAPSHOT.asked)) / 86_400_000);
    if (days === null || days > 30)
      process.stderr.write(
        `advisories: the registry was ${days === null ? 'never asked' : `last asked ${days} days ago`}; npm run audit:refresh\n`,
      );
  });

  it.each([
    ['8.17.0', '>=8.0.0 <8.17.1', true],
    ['8.17.1', '>=8.0.0 <8.17.1', false],
    ['3.14.1', '<3.14.2 || >=4.0.0 <4.1.1', true],
    ['4.1.1', '<3.14.2 || >=4.0.0 <4.1.1', false],
    ['2.2.0', '2.2.0', true],
    ['9.9.9', '*', true],
    ['1.0.0', '>1.0.0', false],
    ['1.0.0', '<=1.0.0', true],
  ])('knows whether %s is in %s', (version, range, hit) => {
    expect(satisfies(version, range)).toBe(hit);
  });

  it('asks the registry for every package of the lockfile, and keeps what it tells with what was known', async () => {
    const script: string = join(ROOT, 'scripts/advisories.mjs');
    const { ask, merged, versionsOf } = (await import(script)) as Refresh;
    let asked: Record<string, string[]> = {};
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const told = {
          ws: [{ vulnerable_versions: '<9.0.0', severity: 'high', url: 'https://x/GHSA-1', title: 't' }],
        };
        response.statusCode = request.url === '/npm/-/npm/v1/security/advisories/bulk' ? 200 : 404;
        if (response.statusCode === 200) asked = JSON.parse(body) as typeof asked;
        response.end(JSON.stringify(told));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const found = await ask(`http://127.0.0.1:${port}/npm`, versionsOf(lock));
    await expect(ask(`http://127.0.0.1:${port}/other/`, {})).rejects.toThrow(/answered 404/);
    server.close();
    expect(found).toEqual([{ package: 'ws', vulnerable: '<9.0.0', severity: 'high', id: 'GHSA-1' }]);
    expect(Object.keys(asked).length).toBe(new Set(packages.map(([path]) => nameOf(path))).size);
    expect(merged(SNAPSHOT.advisories, found)).toHaveLength(SNAPSHOT.advisories.length + 1);
  });

  it('holds no secret in any file under version control', () => {
    // The shapes of issuers; `name=value` and addresses with made-up passwords are all over the tests.
    const own = SECRET_RULES.filter(
      ({ name }) => !/=|:|URL|basic|bearer|address|JSON web|header|option|element/.test(name),
    );
    const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
    const found = files.flatMap((path) => {
      const text = read(path);
      const lower = text.toLowerCase();
      const rules = own.filter(({ hints }) => hints.some((hint) => lower.includes(hint)));
      return rules
        .filter(({ pattern }) => pattern.matcher(text).find())
        .map(({ name }) => `${path}: ${name}`);
    });
    // Examples from the providers' own documentation, and blocks that hold no key.
    expect(found.filter((one) => !KNOWN_EXAMPLES.includes(one))).toEqual([]);
    expect(files.length).toBeGreaterThan(300);
  });
});

const KNOWN_EXAMPLES = [
  'apps/dlq-admin/src/ingest/mask.spec.ts: private key',
  'libs/service/src/logger.spec.ts: private key',
  'libs/service/src/secret-rules.spec.ts: private key',
  'libs/service/src/logger.spec.ts: AWS',
  'libs/service/src/secret-rules.spec.ts: OpenAI',
];
