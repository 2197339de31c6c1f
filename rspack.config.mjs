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
export const OUTSIDE = ['sqlite3', 'piscina', 'gpt-tokenizer'];

// Parts of packages that are loaded at every start and never used: other databases of TypeORM and BullMQ, its schedules,
// its search for files of entities, telephone numbers, a formatter of SQL. Who asks for them finds nothing.
const UNUSED = [
  /^\.\/(?!sqlite\/|postgres\/)[\w-]+\/\w+(Driver|DriverFactory)$/,
  /^\.\/postgres$/,
  /^(cron-parser|glob|libphonenumber-js\/max|@sqltools\/formatter)$/,
];
const NOTHING = 'data:text/javascript,export let CronExpressionParser, parsePhoneNumber';

// Apps that hold others, whose threads they need.
const COMPOSED = { worker: ['producer', 'batcher', 'analyzer'] };

export const APPS = readdirSync(join(ROOT, 'apps'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** The Nest CLI gives its own options, of which only the app's main is of interest. */
const appOf = ({ entry }) => relative(join(ROOT, 'apps'), entry).split(sep)[0];
export default [(nest) => program(appOf(nest)), (nest) => threads(appOf(nest))];

/** What apps/launch.js starts: a script, since V8 keeps the compiled code of scripts. */
function program(app) {
  const config = bundle(app, `dist/apps/${app}/src`, { app: join(ROOT, 'apps', app, 'src/main.ts') });
  Object.assign(config.output, {
    ...{ filename: '[name].cjs', chunkFilename: '[id].cjs', module: false },
    ...{ library: { type: 'commonjs2' }, chunkFormat: 'commonjs', chunkLoading: 'require' },
  });
  config.externals = [outside('commonjs')];
  config.node = { __dirname: false, __filename: false };
  config.module.parser.javascript.importMeta = true;
  // The commands of the cli load what they need; a service needs all of itself, and is one file.
  if (app !== 'cli') config.module.parser.javascript.dynamicImportMode = 'eager';
  Object.assign(config.optimization, { minimize: true, minimizer: [ASCII] });
  config.plugins.push(
    new rspack.DefinePlugin({
      'import.meta.url': 'bundleUrl',
      'import.meta.dirname': '__dirname',
      'import.meta.resolve': 'bundleRequire.resolve',
    }),
    new rspack.BannerPlugin({ banner: BUNDLE, raw: true }),
    new rspack.CopyRspackPlugin({ patterns: filesBeside(app) }),
  );
  return config;
}

// Names are kept (see below); what is left out is space and comments, and no character takes two bytes.
const ASCII = new rspack.SwcJsMinimizerRspackPlugin({
  minimizerOptions: { compress: false, mangle: false, format: { comments: false, asciiOnly: true } },
});
const BUNDLE =
  'const bundleRequire = require, bundleUrl = require("node:url").pathToFileURL(__filename).href;';

function filesBeside(app) {
  const pages = join(ROOT, 'apps', app, 'ui');
  return [
    { from: join(ROOT, 'apps/launch.js'), to: 'main.js', info: { minimized: true } },
    ...(existsSync(pages)
      ? [{ from: pages, to: '../ui', globOptions: { ignore: ['**/*.d.ts', '**/*.json'] } }]
      : []),
  ];
}

function threads(app) {
  const entries = Object.assign({}, ...(COMPOSED[app] ?? [app]).map(threadsOf));
  return bundle(`${app}, threads`, `dist/apps/${app}/src`, entries);
}

/** Threads stand beside the bundle of their app as they stand in its sources. */
function threadsOf(app) {
  const source = join(ROOT, 'apps', app, 'src');
  const threads = files(source, '.thread.ts').filter((file) => !isForTests(file));
  if (threads.length > 0) threads.push(join(ROOT, 'libs/worker-pool/src/entry.thread.ts'));
  return Object.fromEntries(threads.map((file) => [nameBelow(source, file), file]));
}

/** What tests run as files of their own: threads, processes that start by the dozen, what the storm loads into the apps. */
export function testBundle() {
  const own = ['apps', 'libs'].flatMap((folder) =>
    files(join(ROOT, folder), '.thread.ts').filter(isForTests),
  );
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
    externals: [outside('node-commonjs')],
    resolve: { extensions: ['.js'], extensionAlias: { '.js': ['.ts', '.js'] } },
    module: {
      // `import.meta` is that of the bundle: threads and pages are found beside it.
      parser: { javascript: { importMeta: false, url: false, worker: false } },
      rules: [
        { test: /\.ts$/, loader: 'builtin:swc-loader', options: SWC, type: 'javascript/esm' },
        // The public surface of a lib and its modules of Nest do nothing themselves: who takes one name loads what that needs.
        { test: /\/libs\/[^/]+\/src\/(index|[\w-]+\.module)\.ts$/, sideEffects: false },
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
      ...UNUSED.map((part) => new rspack.NormalModuleReplacementPlugin(part, NOTHING)),
      new rspack.DefinePlugin({
        // pg asks whether it is elsewhere than in Node, on Node 20 by loading what `fetch` needs.
        navigator: '({ userAgent: "Node.js" })',
        // BullMQ packs and never unpacks, which is all that the native part of msgpackr is for.
        'process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED': '"true"',
      }),
      // @nestjs/typeorm asks for two classes at run time, which would load all of TypeORM once more from its package.
      new rspack.NormalModuleReplacementPlugin(/\/typeorm-compat\.js$/, 'typeorm'),
    ],
    // Drivers, views and adapters that we do not use are asked for by computed names.
    ignoreWarnings: [/the request of a dependency is an expression/],
  };
}

const isForTests = (file) => /\/testing\/|^libs\//.test(relative(ROOT, file));

function files(folder, end) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith(end))
    .map((file) => join(folder, file));
}

function nameBelow(folder, file) {
  const path = relative(folder, file);
  return (path.startsWith('..') ? file.slice(file.lastIndexOf(sep) + 1) : path).slice(0, -'.ts'.length);
}

const outside =
  (type) =>
  ({ request }, done) => {
    const [name, scoped] = [
      request.replace(/^node:/, ''),
      (each) => request === each || request.startsWith(`${each}/`),
    ];
    if (builtinModules.includes(name)) return done(null, `${type} node:${name}`);
    return OUTSIDE.some(scoped) ? done(null, `${type} ${request}`) : done();
  };

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
