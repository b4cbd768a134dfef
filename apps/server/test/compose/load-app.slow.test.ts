import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** No packages are near it. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-load-')));
afterAll(() => rmSync(folder, { recursive: true }));

/** Applications that cannot be loaded, and what is said of each after "it cannot be loaded: ". */
const CASES: Readonly<Record<string, readonly [code: string, reason: string]>> = {
  'no-package.mjs': [
    "import { defineApp } from 'millrace';",
    "Cannot find package 'millrace' imported from ./no-package.mjs; run 'npm install millrace' in the folder of the application",
  ],
  'no-subpath.mjs': [
    "import '@millrace/orchestrator/bulk';",
    "Cannot find package '@millrace/orchestrator' imported from ./no-subpath.mjs; run 'npm install @millrace/orchestrator' in the folder of the application",
  ],
  'required.cjs': [
    "require('@millrace/outbox/x');",
    "Cannot find module '@millrace/outbox/x'; run 'npm install @millrace/outbox' in the folder of the application",
  ],
  'near-package.mjs': [
    "import '@millrace/bulk-actions';",
    "Cannot find package '@millrace/bulk-actions' imported from ./near-package.mjs; did you mean '@millrace/bulk-action'?",
  ],
  'near-name.cjs': ["require('mill-race');", "Cannot find module 'mill-race'; did you mean 'millrace'?"],
  'no-such-of-ours.mjs': [
    "import '@millrace/kubernetes-operator';",
    "Cannot find package '@millrace/kubernetes-operator' imported from ./no-such-of-ours.mjs; Millrace has no such package",
  ],
  'of-others.mjs': [
    "import 'left-pad';",
    "Cannot find package 'left-pad' imported from ./of-others.mjs; install it in the folder of the application",
  ],
  'plain.js': [
    "import { defineApp } from 'millrace';",
    'Cannot use import statement outside a module (./plain.js:1); name it plain.mjs, or set "type": "module" in package.json',
  ],
  'exports.js': [
    'export default 1;',
    `Unexpected token 'export' (./exports.js:1); name it exports.mjs, or set "type": "module" in package.json`,
  ],
  'imports-plain.mjs': [
    "import './lib/plain.js';",
    'Cannot use import statement outside a module (./lib/plain.js:1); name it plain.mjs, or set "type": "module" in package.json',
  ],
  './src/typed.mts': [
    'export const a: number = 1;',
    'TypeScript: compile it first (npx tsc) and start the .mjs',
  ],
  'imports-typed.mjs': [
    "import './src/typed.mts';",
    'Unknown file extension ".mts" for ./src/typed.mts; TypeScript: compile it first (npx tsc)',
  ],
  'no-file.mjs': ["import './none.mjs';", "Cannot find module './none.mjs' imported from ./no-file.mjs"],
  'syntax.mjs': ["console.log('never');\nexport const a = ;\n", "Unexpected token ';' (./syntax.mjs:2)"],
  'imports-syntax.mjs': ["import './syntax.mjs';", "Unexpected token ';' (./syntax.mjs:2)"],
  'late-syntax.mjs': ["console.log('once');\nawait import('./syntax.mjs');", "Unexpected token ';'"],
  'syntax.cjs': ['\n\nlet = = 1;', "Unexpected token '=' (./syntax.cjs:3)"],
  'no-export.mjs': [
    "import { a } from './throws.mjs';",
    "The requested module './throws.mjs' does not provide an export named 'a' (./no-export.mjs:1)",
  ],
  'throws.mjs': ['\nnowhere();', 'nowhere is not defined (./throws.mjs:2)'],
  'hostile.mjs': ['throw undefined;', 'The handler threw undefined'],
};

/** In a process of its own: the runner of these tests loads modules in its own way, with errors of its own. */
const SCRIPT = `
import { loadApp } from ${JSON.stringify(new URL('../../dist/compose/load-app.js', import.meta.url).href)};
const said = {};
for (const file of process.argv.slice(1)) await loadApp(file).catch(({ code, message }) => { said[file] = code + ' ' + message; });
console.log(JSON.stringify(said));
`;

let output: readonly string[];
beforeAll(async () => {
  for (const name of ['src', 'lib']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'lib/plain.js'), "import './x.js';");
  // As `npm init` makes it.
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
  for (const [name, [code]] of Object.entries(CASES)) writeFileSync(join(folder, name), code);
  const args = ['--input-type=module', '--eval', SCRIPT, ...Object.keys(CASES), 'absent.mjs'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
  output = stdout.trimEnd().split('\n');
});

it('says why an application cannot be loaded, where the mistake is, and what to do', () => {
  const said = JSON.parse(output.at(-1) ?? '');
  const expected = Object.entries(CASES).map(([file, [, reason]]) => [
    file,
    `it cannot be loaded: ${reason}`,
  ]);
  expect(said).toEqual(
    Object.fromEntries(
      [...expected, ['absent.mjs', 'it cannot be loaded: there is no such file']].map(([file, reason]) => [
        file,
        `APP_INVALID The application ${file} cannot be used: ${reason}`,
      ]),
    ),
  );
});

it('runs nothing of it to find that out', () => {
  expect(output.slice(0, -1)).toEqual(['once']);
});
