// Every way in which one source file names another module, with the line it stands on.
//
// Seen: import and export declarations (type-only ones too), import(), import("x").T in types, `import x = require("x")`,
// require("x") and triple-slash references. A specifier that is not a literal is reported as undefined.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";

const CODE = /\.(?:ts|tsx|mts|cts|js|jsx|mjs|cjs)$/u;

/** @typedef {{ specifier: string | undefined, line: number }} Reference */
/** @typedef {{ path: string, references: Reference[] }} SourceFile `path` is relative to the root */

/** @param {string} root @returns {SourceFile[]} */
export function readSources(root) {
  return readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && CODE.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .toSorted()
    .map((path) => ({ path, references: referencesIn(path, readFileSync(join(root, path), "utf8")) }));
}

/**
 * The file that a relative specifier means, relative to the root: written `x.js`, it may be `x.ts`.
 * @param {{ root: string, from: string, specifier: string }} reference
 */
export function resolveRelative({ root, from, specifier }) {
  const written = join(dirname(from), specifier);
  const candidates = [written, written.replace(/\.([mc]?)js(x?)$/u, ".$1ts$2"), `${written}.ts`, join(written, "index.ts")];
  return candidates.find((path) => CODE.test(path) && existsSync(join(root, path))) ?? written;
}

/** @param {string} path @param {string} text @returns {Reference[]} */
function referencesIn(path, text) {
  const source = ts.createSourceFile(path, text, { languageVersion: ts.ScriptTarget.Latest });
  /** @type {Reference[]} */
  const references = [...source.referencedFiles, ...source.typeReferenceDirectives].map(({ fileName, pos }) => ({
    specifier: source.referencedFiles.some((file) => file.pos === pos) ? asRelative(fileName) : fileName,
    line: lineAt(source, pos),
  }));
  /** @param {ts.Node} node */
  const visit = (node) => {
    const named = moduleNamedBy(node);
    if (named !== undefined) {
      references.push({ specifier: ts.isStringLiteralLike(named) ? named.text : undefined, line: lineAt(source, named.getStart(source)) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return references;
}

/** @param {ts.Node} node @returns {ts.Node | undefined} */
function moduleNamedBy(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument;
  if (!ts.isCallExpression(node)) return undefined;
  const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword;
  const isRequire = ts.isIdentifier(node.expression) && node.expression.text === "require";
  return isImport || isRequire ? node.arguments[0] : undefined;
}

/** @param {string} fileName */
function asRelative(fileName) {
  return fileName.startsWith(".") ? fileName : `./${fileName}`;
}

/** @param {ts.SourceFile} source @param {number} position */
function lineAt(source, position) {
  return source.getLineAndCharacterOfPosition(position).line + 1;
}
