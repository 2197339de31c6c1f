import { join } from 'node:path';
import ts from 'typescript';
import { PROJECT_ROOT } from '#testing';
import type { Manifest } from './deploy-files.js';
import { OPERATORS, unknownFields } from './deploy-shapes.js';

const FILE = join(PROJECT_ROOT, 'test/e2e/manifests.ts');
const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};

/**
 * What the API of Kubernetes does not know or take of manifests: kinds, versions, fields, types, what is missing. Its types are
 * made of its OpenAPI document (kubernetes-types, whose version is that of Kubernetes), and each manifest is compiled as a
 * literal of its type. Of what operators add, the fields are checked by a table of ours.
 */
export function schemaErrors(manifests: readonly Manifest[]): string[] {
  const builtIn = manifests.filter(({ apiVersion }) => !OPERATORS.test(apiVersion));
  return [
    ...compileErrors(builtIn),
    ...manifests.filter((one) => !builtIn.includes(one)).flatMap(unknownFields),
  ];
}

function compileErrors(manifests: readonly Manifest[]): string[] {
  const lines = manifests.map((one, n) => `export const m${n}: ${typeOf(one)} = ${JSON.stringify(one)};`);
  const source = ts.createSourceFile(FILE, lines.join('\n'), ts.ScriptTarget.ES2023);
  const host = ts.createCompilerHost(OPTIONS);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) => (name === FILE ? source : read(name, ...rest));
  const found = ts.getPreEmitDiagnostics(ts.createProgram([FILE], OPTIONS, host));
  return found.map(({ start = 0, messageText }) => {
    const { kind, metadata } = manifests[source.getLineAndCharacterOfPosition(start).line] as Manifest;
    return `${kind} ${metadata.name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

/** `v1` is the group `core`; other groups are named without their domain. */
function typeOf({ apiVersion, kind }: Manifest): string {
  const [group = '', version] = apiVersion.split('/');
  const path = version ? `${group.split('.')[0]}/${version}` : `core/${group}`;
  return `import('kubernetes-types/${path}').${kind}`;
}
