// What a source exports, imports and holds, by TypeScript's own parser and without types: fast enough for every check.
import { dirname, join } from 'node:path';
import ts from 'typescript';

/** The sources parsed; each knows the names that others take from it and who they are, also by way of an index. */
export function inspect(sources) {
  const known = new Set(sources.map(({ path }) => path));
  const files = new Map(sources.map((source) => [source.path, parse(source, known)]));
  for (const { path, imports } of files.values())
    for (const { from, name } of imports) take(files, from, name, path);
  return [...files.values()];
}

function take(files, path, name, importer) {
  const file = files.get(path);
  if (!file) return;
  file.taken.add(name);
  if (!path.endsWith('/index.ts')) file.importers.add(importer);
  for (const { from, name: theirs, as } of file.reexports)
    if ([as, name].includes('*') || as === name)
      if (theirs !== '*' || exportsName(files, from, name))
        take(files, from, theirs === '*' ? name : theirs, importer);
}

function exportsName(files, path, name) {
  const { exports = [], reexports = [] } = files.get(path) ?? {};
  if (name === '*' || exports.includes(name)) return true;
  return reexports.some((each) => each.as === '*' && exportsName(files, each.from, name));
}

/** The names that a file exports and that nobody imports. A pool loads the files of its threads by their address. */
export function unusedExports({ path, exports, taken }) {
  if (path.endsWith('.thread.ts') || taken.has('*')) return [];
  return exports.filter((name) => !taken.has(name)).map((name) => `${path} ${name}`);
}

function parse({ path, text }, known) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lines = text.split('\n').length - 1;
  const file = {
    path,
    lines,
    importers: new Set(),
    taken: new Set(),
    imports: [],
    reexports: [],
    exports: [],
    bags: [],
    functions: [],
  };
  const visit = (node) => {
    readImport(node, file, known);
    readExport(node, file, known);
    readSize(node, file, source);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return file;
}

function readImport(node, file, known) {
  if (ts.isImportDeclaration(node)) {
    const from = resolve(file.path, node.moduleSpecifier.text, known);
    const { name, namedBindings: bindings } = node.importClause ?? {};
    const named = bindings && ts.isNamedImports(bindings) ? bindings.elements.map(importedName) : [];
    const whole = bindings && ts.isNamespaceImport(bindings) ? ['*'] : [];
    for (const each of [...(name ? ['default'] : []), ...named, ...whole])
      file.imports.push({ from, name: each });
    if (!node.importClause) file.imports.push({ from });
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const from = resolve(file.path, node.arguments[0]?.text ?? '', known);
    for (const name of namesTaken(node)) file.imports.push({ from, name });
  }
}

/** Of `const { a } = await import(…)` and `(await import(…)).a` the names; of any other use all. */
function namesTaken(call) {
  const outer = ts.isParenthesizedExpression(call.parent.parent)
    ? call.parent.parent.parent
    : call.parent.parent;
  if (ts.isPropertyAccessExpression(outer)) return [outer.name.text];
  if (ts.isVariableDeclaration(outer) && ts.isObjectBindingPattern(outer.name))
    return outer.name.elements.map(importedName);
  return ['*'];
}

function importedName({ propertyName, name }) {
  return (propertyName ?? name).text;
}

function readExport(node, file, known) {
  if (ts.isExportDeclaration(node)) {
    const from = node.moduleSpecifier && resolve(file.path, node.moduleSpecifier.text, known);
    if (from && !node.exportClause) file.reexports.push({ from, name: '*', as: '*' });
    for (const element of node.exportClause?.elements ?? []) {
      file.exports.push(element.name.text);
      if (from) file.reexports.push({ from, name: importedName(element), as: element.name.text });
    }
  }
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : [];
  if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return;
  if (modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) file.exports.push('default');
  else if (ts.isVariableStatement(node))
    for (const { name } of node.declarationList.declarations) file.exports.push(...boundNames(name));
  else file.exports.push(node.name.text);
}

function boundNames(name) {
  return ts.isIdentifier(name) ? [name.text] : name.elements.flatMap((element) => boundNames(element.name));
}

function readSize(node, file, source) {
  if (ts.isInterfaceDeclaration(node) && /(Options|Parts|Context)$/.test(node.name.text))
    file.bags.push(`${file.path} ${node.name.text}`);
  if (!ts.isFunctionLike(node) || !node.body) return;
  const [from, to] = [node.getStart(source), node.end].map(
    (at) => source.getLineAndCharacterOfPosition(at).line,
  );
  file.functions.push({ place: `${file.path}:${from + 1}`, lines: to - from + 1 });
}

/** The path of a source named by an import, or undefined of a package. */
function resolve(path, specifier, known) {
  if (specifier.startsWith('#')) return `libs/${specifier.slice(1)}/src/index.ts`;
  if (!specifier.startsWith('.')) return undefined;
  const target = join(dirname(path), specifier);
  return [target, target.replace(/\.js$/, '.ts')].find((each) => known.has(each));
}
