import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { manifestOf, SOURCE_CONDITION } from './pack-packages.mjs';
import { parseSource } from './source-files.mjs';

const CODE = /^(dist\/.+\.(js|cjs|d\.ts|d\.cts)|bin\/[a-z-]+\.js)$/;
const SHIPPED = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
  CODE,
  /^dist\/.+\.map$/,
  /^src\/.+\.c?ts$/,
  /^lua\/[a-z-]+\.lua$/,
  /^sql\/(verbs\/)?[0-9a-z-]+\.sql$/,
  /^assets\/[a-z-]+\.css$/,
  /^template\/pglite-[\d.]+\.tar\.br$/,
  // The endings that the server serves.
  /^page\/(index\.html|licenses\.md|assets\/[\w.-]+\.(js|css|svg|woff2))$/,
];
const PGLITE = manifestOf('packages/postgres').devDependencies['@electric-sql/pglite'];
const NEEDED = {
  millrace: ['page/index.html', 'page/licenses.md'],
  '@millrace/postgres': [`template/pglite-${PGLITE}.tar.br`],
};

/** Finds what would break a packed package, or the debugging of it, in a user's project. */
export async function packageProblems({ name, packed }) {
  const tarball = new Uint8Array(readFileSync(packed));
  const content = createPackageFromTarballData(tarball);
  const start = `/node_modules/${name}/`;
  const files = content.listFiles().map((path) => path.slice(start.length));
  const read = (path) => content.readFile(start + path);
  const manifest = JSON.parse(read('package.json'));
  const { messages } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  const problems = [
    ...contentProblems(name, files),
    ...(JSON.stringify(manifest).includes(SOURCE_CONDITION) ? [`exports ${SOURCE_CONDITION}`] : []),
    ...mapProblems(files, read),
    ...undeclaredImports(manifest, files, read),
    ...linkProblems(files, read('README.md')),
    ...messages.map((message) => formatMessage(message, manifest)),
    ...(await typeProblems(content)),
  ];
  return problems.map((problem) => `${name}: ${problem}`);
}

function contentProblems(name, files) {
  const extra = files.filter((path) => !SHIPPED.some((each) => each.test(path)));
  const needed = ['README.md', 'LICENSE', 'CHANGELOG.md', ...(NEEDED[name] ?? [])];
  const missing = needed.filter((path) => !files.includes(path));
  return [...extra.map((path) => `ships ${path}`), ...missing.map((path) => `lacks ${path}`)];
}

/** All code has a source map, and each map its sources. */
const mapProblems = (files, read) =>
  files
    .filter((path) => path.startsWith('dist/') && CODE.test(path))
    .filter((path) => {
      if (!files.includes(`${path}.map`)) return true;
      const { sources } = JSON.parse(read(`${path}.map`));
      return sources.some((source) => !files.includes(posix.join(posix.dirname(path), source)));
    })
    .map((path) => `${path} has no source map, or its source is missing`);

function undeclaredImports({ name, dependencies, peerDependencies }, files, read) {
  const declared = [name, ...Object.keys({ ...dependencies, ...peerDependencies })];
  const isDeclared = (from) => declared.some((each) => from === each || from.startsWith(`${each}/`));
  return files
    .filter((path) => CODE.test(path))
    .flatMap((path) =>
      importsIn(path, read(path))
        .filter((from) => !from.startsWith('.') && !isBuiltin(from) && !isDeclared(from))
        .map((from) => `${path} imports ${from}, which package.json does not name`),
    );
}

/** The names that code or declarations import. The parser reports neither `require` nor the imports of types. */
function importsIn(path, text) {
  const others = path.endsWith('.js') ? [] : text.matchAll(/\b(?:require\('|import\(")([^'"]+)/g);
  return [...parseSource(path, text).imports.map(({ from }) => from), ...[...others].map(([, from]) => from)];
}

/** npm shows the README without the files of the repository. */
const linkProblems = (files, readme) =>
  [...readme.matchAll(/\]\((?!https?:|mailto:|#)([^)\s]+)\)/g)]
    .filter(([, target]) => !files.includes(posix.normalize(target.replace(/#.*/, ''))))
    .map(([, target]) => `README.md links to ${target}, which is not published`);

async function typeProblems(content) {
  const { types, problems } = await checkPackage(content);
  // An ESM package is not meant for TypeScript's old resolution, nor for `require`.
  const isIntended = ({ resolutionKind }) => /^(node10|node16-cjs)$/.test(resolutionKind);
  return (types ? problems : []).filter((each) => !isIntended(each)).map((each) => JSON.stringify(each));
}
