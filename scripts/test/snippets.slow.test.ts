import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root, tool } from '../command.mjs';
import { markdownFiles, snippetsIn } from '../markdown-snippets.mjs';

const run = promisify(execFile);

/** Documents whose programs are loaded by a server, and the tests that do that. */
const LOADED_ELSEWHERE: Readonly<Record<string, string>> = {
  'apps/server/README.md': 'apps/server/test/process/readme.slow.test.ts',
  'docs/configuration.md': 'apps/server/test/config/compose.test.ts',
};
/** Programs that need a server. `apps/server/test/process/readme.slow.test.ts` runs them beside one. */
const ASKS_A_SERVER = /createClient\(|createServerClient\(/;

// Outside the repository, so that imports go through node_modules and the exports maps like those of a user.
const folder = mkdtempSync(join(tmpdir(), 'millrace-snippets-'));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(join(root, 'node_modules/@millrace'), join(folder, 'node_modules/@millrace'));
for (const name of ['millrace', '@nestjs', 'rxjs', 'prom-client', 'pino', 'reflect-metadata'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
// The first line of a Lua file names its path.
for (const path of markdownFiles())
  for (const { code } of snippetsIn(path, 'lua')) {
    const [, place = ''] = /^-- (lua\/[a-z-]+\.lua)\n/.exec(code) ?? [];
    mkdirSync(join(folder, dirname(place)), { recursive: true });
    writeFileSync(join(folder, place), code);
  }
const sources = join(folder, 'src');
mkdirSync(sources);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let executed = 0;

async function execute(code: string): Promise<string> {
  const file = join(sources, `snippet-${++executed}.mjs`);
  writeFileSync(file, code);
  return output(file);
}

async function output(file: string): Promise<string> {
  const { stdout } = await run('node', [...SHORT_LIVED_PGLITE, file], { cwd: folder });
  return stdout;
}

/** The output that a snippet promises in the comment behind each console.log. */
const promised = (code: string) =>
  [...code.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm)].map(([, text]) => text);

describe('snippets', () => {
  const programs = markdownFiles()
    .flatMap((path) => snippetsIn(path, 'js'))
    .filter(({ path }) => LOADED_ELSEWHERE[path] === undefined);
  // Concurrent, because most of their time is the start of Node or PGlite.
  it.concurrent.each(programs)('$path:$line runs and prints its promised output', async ({ code }) => {
    const lines = (await execute(code)).split('\n');
    expect(lines).toEqual(expect.arrayContaining(promised(code)));
  });

  it('async-utils SC-001: the five-minute start of the README works as written, from the built package', async () => {
    const [start] = snippetsIn('packages/async-utils/README.md', 'js');
    expect(start?.code).toContain("import { retry } from '@millrace/async-utils'");
    expect(await execute(start?.code ?? '')).toContain('{ rows: 42 }');
  });
});

describe('TypeScript snippets', () => {
  const programs = markdownFiles()
    .flatMap((path) => snippetsIn(path, 'ts'))
    .map((program, index) => ({ ...program, name: `typed-${index}` }));

  beforeAll(async () => {
    for (const { name, code } of programs) writeFileSync(join(sources, `${name}.mts`), code);
    const options = {
      module: 'nodenext',
      target: 'es2022',
      strict: true,
      experimentalDecorators: true,
    };
    const files = programs.map(({ name }) => join('src', `${name}.mts`));
    const config = { compilerOptions: { ...options, skipLibCheck: true, types: [] }, files };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    await run(tool('tsc'), ['-p', folder]).catch(({ stdout }: { stdout: string }) => expect.fail(stdout));
  }, 60_000);

  it('compile in a strict project', () => {
    expect(programs.length).toBeGreaterThan(10);
  });

  const alone = programs.filter(({ code }) => !ASKS_A_SERVER.test(code));
  it.concurrent.each(alone)('$path:$line runs and prints its promised output', async ({ name, code }) => {
    const lines = (await output(join(sources, `${name}.mjs`))).split('\n');
    expect(lines).toEqual(expect.arrayContaining(promised(code)));
  });
});
