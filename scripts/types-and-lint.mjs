// Types and lint in one: rules that ask for types ask the program that the compiler has just checked. Both keep what they
// found, so that files that have not changed are not looked at again.
import { join } from 'node:path';
import { ESLint } from 'eslint';
import ts from 'typescript';
import { parser } from 'typescript-eslint';

const ROOT = join(import.meta.dirname, '..');
const cache = join(ROOT, 'node_modules/.cache/millrace/eslint');

const { options, fileNames, errors } = ts.getParsedCommandLineOfConfigFile(
  join(ROOT, 'tsconfig.check.json'),
  {},
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (problem) => fail([problem]) },
);
const program = ts.createIncrementalProgram({
  rootNames: fileNames,
  options,
  configFileParsingDiagnostics: errors,
});
const problems = [
  ...program.getConfigFileParsingDiagnostics(),
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...program.getSyntacticDiagnostics(),
  ...program.getSemanticDiagnostics(),
];
program.emit();
if (problems.length > 0) fail(problems);

const shared = {
  meta: parser.meta,
  parseForESLint: (text, { project, ...given }) =>
    parser.parseForESLint(text, project ? { ...given, programs: [program.getProgram()] } : given),
};
const eslint = new ESLint({
  cwd: ROOT,
  cache: true,
  cacheLocation: cache,
  overrideConfig: { files: ['**/*.ts'], languageOptions: { parser: shared } },
});
const results = await eslint.lintFiles('.');
process.stderr.write(await (await eslint.loadFormatter()).format(results));
if (results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0)) process.exitCode = 1;

function fail(found) {
  const host = {
    getCurrentDirectory: () => ROOT,
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  };
  process.stderr.write(ts.formatDiagnosticsWithColorAndContext(found, host));
  process.exitCode = 1;
}
