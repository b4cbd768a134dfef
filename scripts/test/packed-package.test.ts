import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../pack-packages.mjs';
import { packedProblems, versionProblems } from '../packed-package.mjs';

const manifest = {
  name: '@millrace/novel',
  version: '0.1.0',
  description: 'Something new.',
  license: 'MIT',
  homepage: `${REPOSITORY}/tree/main/packages/novel#readme`,
  bugs: `${REPOSITORY}/issues`,
  repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory: 'packages/novel' },
  type: 'module',
  engines: { node: '>=20.19' },
  keywords: ['new'],
  publishConfig: { access: 'public' },
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  },
  dependencies: { '@millrace/foundation': '0.1.0' },
  peerDependencies: { ioredis: '>=6', pg: '>=8' },
  peerDependenciesMeta: { ioredis: { optional: true } },
};
const others = [
  manifest,
  { name: '@millrace/foundation', version: '0.1.0', exports: { '.': {}, './package.json': {} } },
];
const mapOf = (name: string) => JSON.stringify({ sources: [`../src/${name}.ts`] });
const files = {
  'package.json': '',
  'README.md': 'See [the licence](LICENSE), [npm](https://npmjs.com) and [below](#below).',
  LICENSE: '',
  'CHANGELOG.md': '',
  'src/index.ts': '',
  'src/late.ts': '',
  'dist/index.js.map': mapOf('index'),
  'dist/index.d.ts.map': mapOf('index'),
  'dist/late.js.map': mapOf('late'),
  'dist/late.d.ts.map': mapOf('late'),
  'dist/index.js': "import '@millrace/foundation';\nimport pg from 'pg';\nimport './late.js';\n",
  'dist/index.d.ts': "export * from './late.js';\n",
  'dist/late.js':
    "import 'node:fs';\nawait import('ioredis');\nawait import(new URL('x', 'file:///').href);\n",
  'dist/late.d.ts': 'export declare const a: import("pg").Pool;\n',
};

/** What is found when some files are otherwise, or gone (undefined). */
function problemsOf(changes: Record<string, string | undefined> = {}, given: object = {}): string[] {
  const all = new Map(Object.entries({ ...files, ...changes }).filter(([, text]) => text !== undefined));
  const packed = {
    folder: 'packages/novel',
    manifest: { ...manifest, ...given },
    files: [...all.keys()],
    read: (path: string) => all.get(path) ?? '',
  };
  return packedProblems(packed, others);
}

describe('what is published', () => {
  it('accepts a package with all it needs and nothing else', () => {
    expect(problemsOf()).toEqual([]);
  });

  it.each([
    ['no licence', { LICENSE: undefined, 'README.md': '' }, 'LICENSE is missing'],
    ['a test', { 'test/index.test.js': '' }, 'ships test/index.test.js'],
    ['build information', { 'dist/tsconfig.tsbuildinfo': '' }, 'ships dist/tsconfig.tsbuildinfo'],
    ['code without a source map', { 'dist/late.js.map': undefined }, 'dist/late.js has no source map'],
    [
      'output of a deleted source',
      { 'dist/old.js': '', 'dist/old.js.map': mapOf('old') },
      'dist/old.js maps to src/old.ts, which is not shipped',
    ],
    ['an entry that is not there', { 'dist/index.d.ts': undefined }, "'.' is dist/index.d.ts"],
    ['a link out of the package', { 'README.md': '[errors](../../docs/errors.md)' }, 'README.md links to'],
    ['an import nobody declares', { 'dist/late.js': "import 'undici';" }, 'imports undici'],
    ['one that is made late', { 'dist/late.js': "await import('undici');" }, 'imports undici'],
    ['one of a declaration', { 'dist/late.d.ts': 'type A = import("undici").Agent;' }, 'imports undici'],
    [
      'a required one',
      { 'dist/late.js': '', 'dist/late.cjs': "require('undici')", 'dist/late.cjs.map': mapOf('late') },
      'imports undici',
    ],
    ['a file that is not shipped', { 'dist/late.js': "import './gone.js';" }, 'imports ./gone.js'],
    ['a door that is not open', { 'dist/late.js': "import '@millrace/foundation/x';" }, 'does not export'],
    ['an optional peer in the main entry', { 'dist/late.js': "import 'ioredis';" }, "'.' needs ioredis"],
  ])('refuses %s', (_, changes, problem) => {
    expect(problemsOf(changes as Record<string, string | undefined>).join('\n')).toContain(problem);
  });

  it('needs the page in the server, and only what a page is made of', () => {
    const server = { name: 'millrace' };
    expect(problemsOf({}, server).join('\n')).toContain('page/index.html is missing');
    const page = {
      'page/index.html': '',
      'page/licenses.md': '',
      'page/assets/main-D_4x-a1.js': "import 'x';",
    };
    expect(problemsOf(page, server)).toEqual([]);
    for (const path of ['page/assets/main-1a2b.js.map', 'page/.vite/manifest.json', 'page/assets/photo.png'])
      expect(problemsOf({ ...page, [path]: '' }, server)).toEqual([`millrace: ships ${path}`]);
  });

  it.each([
    ['keywords', { keywords: [] }],
    ['publishConfig.access', { publishConfig: {} }],
    ['engines.node', { engines: {} }],
    ['description', { description: undefined }],
    ['repository', { repository: { type: 'git', url: `git+${REPOSITORY}.git` } }],
    ['homepage', { homepage: undefined }],
    ['bugs', { bugs: undefined }],
    ['exports without @millrace/source', { exports: { '.': { '@millrace/source': './src/index.ts' } } }],
    ['peers of optional ones', { peerDependenciesMeta: { redis: { optional: true } } }],
  ])('needs %s', (what, given) => {
    expect(problemsOf({}, given).join('\n')).toContain(`package.json needs ${what}`);
  });

  it('refuses one of ours in a version that it does not have', () => {
    const given = { peerDependencies: { '@millrace/foundation': '^0.1.0', pg: '>=8' } };
    expect(versionProblems(given, others)).toEqual([
      'peerDependencies has @millrace/foundation ^0.1.0, which is 0.1.0',
    ]);
  });
});
