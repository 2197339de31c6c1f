// How an app becomes one file: `nest build <app>` and `npm run build` both read this. The bundle of an app and those of its
// threads stand where a compiler would put them, each with a source map; what an app serves as it is stands beside them.
import { existsSync, readdirSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { rspack } from '@rspack/core';
import { SWC } from './scripts/typescript-cache.mjs';

const ROOT = import.meta.dirname;
const require = createRequire(import.meta.url);
// Native code, and packages that look for their own files beside them.
export const OUTSIDE = ['sqlite3', 'msgpackr-extract', 'piscina', 'gpt-tokenizer'];

// Apps that hold others, whose threads they need.
const COMPOSED = { worker: ['batcher', 'analyzer'] };

export const APPS = readdirSync(join(ROOT, 'apps'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** The Nest CLI gives its own options, of which only the app's main is of interest. */
export default function nestBuild({ entry }) {
  return appBundle(relative(join(ROOT, 'apps'), entry).split(sep)[0]);
}

export function appBundle(app) {
  const source = join(ROOT, 'apps', app, 'src');
  const config = bundle(app, `dist/apps/${app}/src`, {
    main: join(source, 'main.ts'),
    ...Object.assign({}, ...(COMPOSED[app] ?? [app]).map(threadsOf)),
  });
  // The commands of the cli load what they need; a service needs all of itself, and is one file.
  if (app !== 'cli') config.module.parser.javascript.dynamicImportMode = 'eager';
  const pages = join(ROOT, 'apps', app, 'ui');
  if (existsSync(pages))
    config.plugins.push(
      new rspack.CopyRspackPlugin({
        patterns: [{ from: pages, to: '../ui', globOptions: { ignore: ['**/*.d.ts', '**/*.json'] } }],
      }),
    );
  return config;
}

/** Threads stand beside the bundle of their app as they stand in its sources. */
function threadsOf(app) {
  const source = join(ROOT, 'apps', app, 'src');
  const threads = files(source, '.thread.ts').filter((file) => !file.includes('testing.'));
  if (threads.length > 0) threads.push(join(ROOT, 'libs/worker-pool/src/entry.thread.ts'));
  return Object.fromEntries(threads.map((file) => [nameBelow(source, file), file]));
}

/** What tests run as files of their own: threads, processes that start by the dozen, what the storm loads into the apps. */
export function testBundle() {
  const own = [...files(join(ROOT, 'apps'), 'testing.thread.ts'), ...files(join(ROOT, 'libs'), '.thread.ts')];
  own.push(...files(join(ROOT, 'libs'), '.process.ts'), join(ROOT, 'test/failure/storm/obey.ts'));
  return bundle('tests', 'dist', Object.fromEntries(own.map((file) => [nameBelow(ROOT, file), file])));
}

function bundle(name, output, entry) {
  return {
    name,
    entry,
    context: ROOT,
    mode: 'none',
    target: 'node20',
    devtool: 'nosources-source-map',
    output: {
      path: join(ROOT, output),
      filename: '[name].js',
      chunkFilename: '[id].js',
      module: true,
      library: { type: 'module' },
      chunkFormat: 'module',
      chunkLoading: 'import',
      devtoolModuleFilenameTemplate: ({ absoluteResourcePath }) =>
        relative(join(ROOT, output), absoluteResourcePath),
    },
    externals: [outside],
    resolve: { extensions: ['.js'], extensionAlias: { '.js': ['.ts', '.js'] } },
    module: {
      // `import.meta` is that of the bundle: threads and pages are found beside it.
      parser: { javascript: { importMeta: false, url: false, worker: false } },
      rules: [
        { test: /\.ts$/, loader: 'builtin:swc-loader', options: SWC, type: 'javascript/esm' },
        // The public surface of a lib does nothing itself: who takes one name from it loads what that name needs.
        { test: /\/libs\/[^/]+\/src\/index\.ts$/, sideEffects: false },
      ],
    },
    // Every module keeps a scope of its own: names that meet in a shared one are changed, and Nest, logs and metrics tell
    // class names.
    optimization: {
      minimize: false,
      concatenateModules: false,
      nodeEnv: false,
      sideEffects: true,
      providedExports: true,
      usedExports: true,
    },
    node: { __dirname: 'node-module', __filename: 'node-module' },
    plugins: [
      new rspack.IgnorePlugin({ checkResource: isMissingPeer }),
      // npm links the command line as a program; the bundler drops the line that its source begins with.
      new rspack.BannerPlugin({ banner: '#!/usr/bin/env node', raw: true, include: /^main\.js$/ }),
      // @nestjs/typeorm asks for two classes at run time, which would load all of TypeORM once more from its package.
      new rspack.NormalModuleReplacementPlugin(/\/typeorm-compat\.js$/, 'typeorm'),
    ],
    // Drivers, views and adapters that we do not use are asked for by computed names.
    ignoreWarnings: [/the request of a dependency is an expression/],
  };
}

function files(folder, end) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith(end))
    .map((file) => join(folder, file));
}

function nameBelow(folder, file) {
  const path = relative(folder, file);
  return (path.startsWith('..') ? file.slice(file.lastIndexOf(sep) + 1) : path).slice(0, -'.ts'.length);
}

function outside({ request }, done) {
  const [name, scoped] = [
    request.replace(/^node:/, ''),
    (each) => request === each || request.startsWith(`${each}/`),
  ];
  if (builtinModules.includes(name)) return done(null, `node-commonjs node:${name}`);
  return OUTSIDE.some(scoped) ? done(null, `node-commonjs ${request}`) : done();
}

/** Optional peers of Nest and TypeORM that are not installed; their callers ask for them in a try. */
function isMissingPeer(request, from) {
  if (!from.includes('node_modules') || request.startsWith('.')) return false;
  try {
    require.resolve(request, { paths: [from] });
    return false;
  } catch (error) {
    return error.code === 'MODULE_NOT_FOUND';
  }
}
