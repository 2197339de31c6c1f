// Loaded into an app by the build: when the app ends, what V8 has compiled of its scripts is written beside them.
import { renameSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import vm from 'node:vm';

const scripts = [];
vm.Script = class extends vm.Script {
  constructor(code, options) {
    super(code, options);
    scripts.push({ script: this, file: fileURLToPath(options.filename).replace(/\.js$/, '.compiled') });
  }
};
// Code is kept together with the flags at that time, and an app sets some of its own after it was loaded.
v8.setFlagsFromString = () => {};
syncBuiltinESMExports();
process.on('exit', () => {
  for (const { script, file } of scripts) {
    writeFileSync(`${file}.new`, script.createCachedData());
    renameSync(`${file}.new`, file);
  }
});
