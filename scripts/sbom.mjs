// `node scripts/sbom.mjs > sbom.json`: what is shipped, from package-lock.json, as CycloneDX 1.6. Needs no network.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..');

/** A bill of materials: one component a package that is not for development only. */
export function sbomOf({ name, version, packages }) {
  const shipped = Object.entries(packages).filter(([path, one]) => path !== '' && !one.dev && !one.link);
  const components = shipped.map(([path, one]) => componentOf(path.split('node_modules/').at(-1), one));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', name, version, 'bom-ref': `pkg:npm/${name}@${version}` } },
    components: components.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
  };
}

function componentOf(name, { version, license, integrity, optional }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const [algorithm, hash] = integrity?.split(/-(.*)/s) ?? [];
  return {
    type: 'library',
    'bom-ref': purl,
    purl,
    name,
    version,
    scope: optional ? 'optional' : 'required',
    ...(license && { licenses: [{ expression: license }] }),
    ...(algorithm === 'sha512' && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
    }),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  process.stdout.write(`${JSON.stringify(sbomOf(lock), null, 2)}\n`);
}
