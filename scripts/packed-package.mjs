import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { REPOSITORY, SOURCE_CONDITION } from './pack-packages.mjs';
import { parseSource } from './source-files.mjs';

/** Code and type declarations. */
const CODE = /^(dist\/.+\.(js|cjs|d\.ts|d\.cts)|bin\/[a-z-]+\.js)$/;

/** The only files that a package may contain. */
const SHIPPED = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
  CODE,
  /^dist\/.+\.map$/,
  /^src\/.+\.c?ts$/,
  /^lua\/[a-z-]+\.lua$/,
  /^sql\/(verbs\/)?[0-9a-z-]+\.sql$/,
  /^assets\/[a-z-]+\.css$/,
  // `scripts/make-pglite-template.mjs`.
  /^template\/pglite-[\d.]+\.tar\.br$/,
  // The same endings as the server serves.
  /^page\/(index\.html|licenses\.md|assets\/[\w.-]+\.(js|css|svg|woff2))$/,
];
const NEEDED = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'];
/** Files that one package needs and that no import would miss. */
const NEEDED_BY = {
  millrace: () => ['page/index.html', 'page/licenses.md'],
  '@millrace/postgres': ({ devDependencies = {} }) => [
    `template/pglite-${devDependencies['@electric-sql/pglite']}.tar.br`,
  ],
};

/**
 * A package as it is published.
 * @typedef {object} PackedPackage
 * @property {string} folder - the package's folder in the repository
 * @property {Record<string, any>} manifest
 * @property {string[]} files - paths in the tarball
 * @property {(path: string) => string} read - returns the text of a file of the tarball
 */

/**
 * Lists the faults of a package that is about to be published.
 * @param {PackedPackage} packed
 * @returns {string[]}
 */
export function packedProblems(packed, others) {
  const problems = [
    ...contentProblems(packed),
    ...manifestProblems(packed),
    ...entryProblems(packed),
    ...mapProblems(packed),
    ...versionProblems(packed.manifest, others),
    ...linkProblems(packed),
    ...importProblems(packed, others),
  ];
  return problems.map((problem) => `${packed.manifest.name}: ${problem}`);
}

function contentProblems({ manifest, files }) {
  const needed = [...NEEDED, ...(NEEDED_BY[manifest.name]?.(manifest) ?? [])];
  return [
    ...needed.filter((path) => !files.includes(path)).map((path) => `${path} is missing`),
    ...files.filter((path) => !SHIPPED.some((pattern) => pattern.test(path))).map((path) => `ships ${path}`),
  ];
}

function manifestProblems({ folder, manifest }) {
  const repository = { type: 'git', url: `git+${REPOSITORY}.git`, directory: folder };
  const needed = {
    'description, a text': typeof manifest.description === 'string',
    "license 'MIT'": manifest.license === 'MIT',
    "type 'module'": manifest.type === 'module',
    'engines.node': typeof manifest.engines?.node === 'string',
    'keywords, some': manifest.keywords?.length > 0,
    // npm refuses to publish with provenance when the repository does not match.
    [`repository ${JSON.stringify(repository)}`]: isDeepStrictEqual(manifest.repository, repository),
    [`homepage below ${REPOSITORY}`]: manifest.homepage === `${REPOSITORY}/tree/main/${folder}#readme`,
    [`bugs ${REPOSITORY}/issues`]: manifest.bugs === `${REPOSITORY}/issues`,
    // Without it npm publishes a scoped package as a private one.
    "publishConfig.access 'public'":
      !manifest.name.startsWith('@') || manifest.publishConfig?.access === 'public',
    [`exports without ${SOURCE_CONDITION}`]: !JSON.stringify(manifest.exports).includes(SOURCE_CONDITION),
    'peers of optional ones': Object.keys(manifest.peerDependenciesMeta ?? {}).every(
      (name) => name in (manifest.peerDependencies ?? {}),
    ),
  };
  return Object.entries(needed)
    .filter(([, isThere]) => !isThere)
    .map(([what]) => `package.json needs ${what}`);
}

/** Every file that a manifest names, with the name of the entry. */
function entriesOf({ exports, bin = {} }) {
  const targets = ([name, target]) =>
    typeof target === 'string'
      ? [[name, target]]
      : Object.values(target).flatMap((value) => targets([name, value]));
  return [...Object.entries(exports), ...Object.entries(bin)]
    .flatMap(targets)
    .map(([name, target]) => [name, posix.normalize(target)]);
}

function entryProblems({ manifest, files }) {
  return entriesOf(manifest)
    .filter(([, path]) => !files.includes(path))
    .map(([name, path]) => `'${name}' is ${path}, which is not shipped`);
}

/** A map leads to a source in the tarball. `tsc -b` keeps what it built from a source that was deleted. */
function mapProblems({ files, read }) {
  const shipped = new Set(files);
  return files
    .filter((path) => path.startsWith('dist/') && CODE.test(path))
    .flatMap((path) => {
      if (!shipped.has(`${path}.map`)) return [`${path} has no source map`];
      const { sources } = JSON.parse(read(`${path}.map`));
      const gone = sources
        .map((source) => posix.join(posix.dirname(path), source))
        .filter((source) => !shipped.has(source));
      return gone.map(
        (source) => `${path} maps to ${source}, which is not shipped; remove dist and build again`,
      );
    });
}

/**
 * Dependencies on packages of ours in another version than they have: all are published together.
 * @param {Record<string, any>} manifest
 * @param {Record<string, any>[]} others
 */
export function versionProblems(manifest, others) {
  const versions = new Map(others.map(({ name, version }) => [name, version]));
  return ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((kind) =>
    Object.entries(manifest[kind] ?? {})
      .filter(([name, version]) => versions.has(name) && versions.get(name) !== version)
      .map(([name, version]) => `${kind} has ${name} ${version}, which is ${versions.get(name)}`),
  );
}

/** On npm there is nothing around a package that a link could lead to. */
function linkProblems({ files, read }) {
  if (!files.includes('README.md')) return [];
  return [...read('README.md').matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target)
    .filter((target) => !/^(https?:|mailto:|#)/.test(target))
    .filter((target) => !files.includes(posix.normalize(target.replace(/#.*/, ''))))
    .map((target) => `README.md links to ${target}, which is not shipped`);
}

/** What a file of a package imports: its own files, or packages by name; `isLate` when only as it runs. */
function importsOf(path, text) {
  // What is made as it runs, such as the address of a user's application, names no package.
  const isNamed = ({ at }) => !text.startsWith('import(', at) || /^import\(\s*['"]/.test(text.slice(at));
  const all = parseSource(path, text)
    .imports.filter(isNamed)
    .map(({ from, at }) => ({ from, isLate: text.startsWith('import(', at) }));
  // The parser tells of neither.
  const others = path.endsWith('.cjs') ? /\brequire\('([^']+)'\)/g : /\bimport\("([^"]+)"\)/g;
  const more = path.endsWith('.js') ? [] : [...text.matchAll(others)];
  return [...all, ...more.map(([, from]) => ({ from, isLate: false }))].filter(
    ({ from }) => !isBuiltin(from),
  );
}

const packageOf = (from) => from.split('/', from.startsWith('@') ? 2 : 1).join('/');

function importProblems({ manifest, files, read }, others) {
  const { name, dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const isDeclared = (from) =>
    [dependencies, peerDependencies, { [name]: true }].some((list) => packageOf(from) in list);
  const exported = new Set(
    others.flatMap((other) => Object.keys(other.exports ?? {}).map((key) => posix.join(other.name, key))),
  );
  const isOurs = (from) => others.some((other) => other.name === packageOf(from));
  const code = files.filter((path) => CODE.test(path));
  const importsByFile = new Map(code.map((path) => [path, importsOf(path, read(path))]));
  const problems = [];
  for (const [path, imports] of importsByFile)
    for (const { from } of imports) {
      if (from.startsWith('.')) {
        if (!files.includes(besides(path, from)))
          problems.push(`${path} imports ${from}, which is not shipped`);
      } else if (!isDeclared(from))
        problems.push(`${path} imports ${from}, which package.json does not name`);
      else if (isOurs(from) && !exported.has(from))
        problems.push(`${path} imports ${from}, which ${packageOf(from)} does not export`);
    }
  const isOptional = (from) => peerDependenciesMeta[packageOf(from)]?.optional === true;
  for (const from of reachedFromMain(manifest, importsByFile))
    if (isOptional(from)) problems.push(`'.' needs ${from}, which is optional`);
  return problems;
}

/** The file that a relative import means; declarations import each other by the names of what they declare. */
const besides = (path, from) => {
  const target = posix.join(posix.dirname(path), from);
  return /\.d\.c?ts$/.test(path) ? target.replace(/\.(c?)js$/, '.d.$1ts') : target;
};

/** Packages that are loaded with the main entry, whatever is used of it. */
function reachedFromMain(manifest, importsByFile) {
  const reached = new Set();
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { from, isLate } of importsByFile.get(path) ?? []) {
      if (isLate) continue;
      if (from.startsWith('.')) visit(besides(path, from));
      else reached.add(from);
    }
  };
  for (const [entry, path] of entriesOf(manifest)) if (entry === '.') visit(path);
  return reached;
}
