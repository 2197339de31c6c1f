// Around `npm pack`: before it, the build, and a package.json that asks only for the packages outside of the bundles (the rest
// is in them); after it, package.json as it was. One that an interrupted pack left changed is put back first.
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OUTSIDE } from '../rspack.config.mjs';
import { build, installDependencies, ROOT } from './setup.mjs';

const MANIFEST = join(ROOT, 'package.json');
const KEPT = join(ROOT, '.package.json.kept');

restore();
if (process.argv[2] === 'before') {
  installDependencies();
  build();
  keep(MANIFEST, KEPT);
  const whole = JSON.parse(readFileSync(KEPT, 'utf8'));
  writeFileSync(MANIFEST, `${JSON.stringify(published(whole), null, 2)}\n`);
}

function restore() {
  if (!existsSync(KEPT)) return;
  keep(KEPT, MANIFEST);
  rmSync(KEPT);
}

/** With its times: a newer package.json would ask for a new build. */
function keep(from, to) {
  cpSync(from, to, { preserveTimestamps: true });
}

/** What whoever installs the tarball needs to know, with the versions that were tested. */
function published({ name, version, description, license, type, engines, bin, files, allowScripts }) {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const dependencies = Object.fromEntries(
    OUTSIDE.map((one) => [one, packages[`node_modules/${one}`].version]).sort(),
  );
  const scripts = Object.fromEntries(Object.entries(allowScripts).filter(([one]) => one in dependencies));
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    bin,
    // Compiled code is of use to the Node that compiled it.
    files: [...files, '!dist/**/*.compiled'],
    dependencies,
    allowScripts: scripts,
  };
}
