import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { root, tool } from '../command.mjs';
import { markdownFiles, snippetsIn } from '../markdown-snippets.mjs';

const run = promisify(execFile);

/** Documents whose programs are loaded by a server: apps/server/test/process/readme.slow.test.ts and config/compose.test.ts do that. */
const LOADED_ELSEWHERE = ['apps/server/README.md', 'docs/configuration.md'];
/** Programs that need a server. `apps/server/test/process/readme.slow.test.ts` runs them beside one. */
const ASKS_A_SERVER = /createClient\(|createServerClient\(/;

// Outside the repository, so that imports go through node_modules and the exports maps like those of a user.
const folder = mkdtempSync(join(tmpdir(), 'millrace-snippets-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, 'src'));
mkdirSync(join(folder, 'node_modules'));
for (const name of ['@millrace', 'millrace', '@nestjs', 'rxjs', 'prom-client', 'pino', 'reflect-metadata'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));

const snippets = (language: string) =>
  markdownFiles()
    .flatMap((path) => snippetsIn(path, language))
    .map((snippet, index) => ({ ...snippet, file: join(folder, 'src', `${language}-${index}`) }));
const scripts = snippets('js').filter(({ path }) => !LOADED_ELSEWHERE.includes(path));
const typed = snippets('ts');

beforeAll(async () => {
  // The first line of a Lua file names its path.
  for (const { code } of snippets('lua')) {
    const [, place = ''] = /^-- (lua\/[a-z-]+\.lua)\n/.exec(code) ?? [];
    mkdirSync(join(folder, dirname(place)), { recursive: true });
    writeFileSync(join(folder, place), code);
  }
  for (const { file, code } of scripts) writeFileSync(`${file}.mjs`, code);
  for (const { file, code } of typed) writeFileSync(`${file}.mts`, code);
  const options = { module: 'nodenext', target: 'es2022', strict: true, experimentalDecorators: true };
  const compilerOptions = { ...options, skipLibCheck: true, types: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src/*.mts'] }));
  await run(tool('tsc'), ['-p', folder]).catch(({ stdout }: { stdout: string }) => expect.fail(stdout));
}, 60_000);

it('async-utils SC-001: the README of async-utils starts with a program that prints its result', () => {
  expect(scripts.find(({ path }) => path === 'packages/async-utils/README.md')?.code).toMatch(
    /^import \{ retry \} from '@millrace\/async-utils';[\s\S]*\/\/ \{ rows: 42 \}$/m,
  );
});

// Concurrent, because most of their time is the start of Node or PGlite.
it.concurrent.each([...scripts, ...typed.filter(({ code }) => !ASKS_A_SERVER.test(code))])(
  '$path:$line runs and prints its promised output',
  async ({ file, code }) => {
    const { stdout } = await run('node', [...SHORT_LIVED_PGLITE, `${file}.mjs`], { cwd: folder });
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm)].map(([, text]) => text);
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(promised));
  },
);
