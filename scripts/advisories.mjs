// `npm run audit:refresh`: asks the registry which advisories there are for the packages of package-lock.json and writes them, with the
// date, to test/security/advisories.json. That file is what is checked without a network; where there is one, run this first.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..');
const FILE = join(ROOT, 'test/security/advisories.json');

/** Every version of every package that the lockfile names, as the registry's endpoint for audits wants it. */
export function versionsOf({ packages }) {
  const versions = {};
  for (const [path, { version, link }] of Object.entries(packages)) {
    if (path === '' || link || !version) continue;
    const name = path.split('node_modules/').at(-1);
    versions[name] = [...new Set([...(versions[name] ?? []), version])].sort();
  }
  return versions;
}

/** What the registry knows of them: name, range of versions, severity, address. */
export async function ask(registry, versions) {
  const url = new URL(
    '-/npm/v1/security/advisories/bulk',
    registry.endsWith('/') ? registry : `${registry}/`,
  );
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(versions),
    signal: AbortSignal.timeout(60_000),
  });
  if (!reply.ok)
    throw new Error(
      `the registry answered ${reply.status} to a question for advisories; nothing was written`,
    );
  const found = Object.entries(await reply.json()).flatMap(([name, advisories]) =>
    advisories.map(({ vulnerable_versions: vulnerable, severity, url: address, title }) => ({
      package: name,
      vulnerable,
      severity,
      id: address?.split('/').at(-1) ?? title,
    })),
  );
  return found.sort((a, b) => (a.package + a.id < b.package + b.id ? -1 : 1));
}

/** What was known stays known: the registry tells only what hits a version that is asked for. */
export function merged(known, found) {
  const byKey = new Map(
    [...known, ...found].map((one) => [`${one.package} ${one.id} ${one.vulnerable}`, one]),
  );
  return [...byKey.values()].sort((a, b) => (a.package + a.id < b.package + b.id ? -1 : 1));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const known = JSON.parse(readFileSync(FILE, 'utf8'));
  const found = await ask(registry, versionsOf(lock));
  const snapshot = {
    asked: new Date().toISOString().slice(0, 10),
    advisories: merged(known.advisories, found),
  };
  writeFileSync(FILE, `${JSON.stringify(snapshot, null, 2)}\n`);
  console.error(`${found.length} advisories name a version of ours; wrote ${FILE}`);
  if (found.some(({ severity }) => severity === 'high' || severity === 'critical')) process.exitCode = 1;
}
