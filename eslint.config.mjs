import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';
import { importRules } from './eslint.walls.mjs';

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'coverage/', 'apps/dlq-admin/ui/vendor/'] },
  eslint.configs.recommended,
  {
    files: ['**/*.mjs'],
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: 'module',
      globals: Object.fromEntries(
        [
          'console',
          'process',
          'URL',
          'setTimeout',
          'clearTimeout',
          'fetch',
          'AbortController',
          'AbortSignal',
          'Buffer',
          'performance',
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    // tsc checks the pages too, and knows what a browser has.
    files: ['apps/dlq-admin/ui/**/*.js'],
    rules: { 'no-undef': 'off', 'no-unused-vars': ['error', { varsIgnorePattern: '^_' }] },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { require: 'readonly', module: 'writable' },
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { disallowTypeAnnotations: false, fixStyle: 'inline-type-imports' },
      ],
      // Interfaces that return promises are implemented by functions that happen not to await.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/only-throw-error': 'error',
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only bootstrap and the CLI read the environment; take options instead.',
        },
      ],
      'no-console': 'error',
      eqeqeq: 'error',
      'no-restricted-syntax': ['error', ...secretComparisons()],
    },
  },
  {
    // Decorated classes need their constructor parameter types at run time; a type-only import would erase them.
    files: ['**/*.module.ts', '**/*.service.ts', '**/*.controller.ts', '**/*.guard.ts'],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  {
    files: [
      'libs/config/src/environment.ts',
      'libs/testing/**',
      'test/**',
      'bench/**',
      '**/*.int-spec.ts',
      '**/*.e2e-spec.ts',
      '**/*.spec.ts',
    ],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['apps/cli/**', 'bench/**', 'test/**', 'libs/testing/**'],
    // The CLI, benchmarks and drivers talk to a person on standard output.
    rules: { 'no-console': 'off' },
  },
  ...importRules(),
);

/** Comparing secrets by operators tells, by its time, where they differ. Whether one is there at all may be asked. */
function secretComparisons() {
  const secret = '[name=/(secret|secretHash|keyHash|csrf|csrfHash|cookie|signature|hmac|password)$/i]';
  const compared =
    'BinaryExpression[operator=/^[!=]==?$/]:not([right.type="Literal"]):not([right.type="Identifier"][right.name="undefined"])';
  return [
    `${compared} > Identifier${secret}`,
    `${compared} > MemberExpression > Identifier.property${secret}`,
  ].map((selector) => ({ selector, message: 'Compare secrets with secretMatches, in constant time.' }));
}
