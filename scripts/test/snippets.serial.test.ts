import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { afterAll, describe, expect, it } from 'vitest';
import { root, tool } from '../command.mjs';
import { snippetsIn } from '../markdown-snippets.mjs';

const run = promisify(execFile);
const documents = [
  'README.md',
  'docs/processors.md',
  ...[
    'async-utils',
    'foundation',
    'redis',
    'postgres',
    'runtime',
    'bulk-action',
    'outbox',
    'orchestrator',
    'contract',
  ].map((name) => `packages/${name}/README.md`),
];

// Outside the repository, so that imports go through node_modules and the exports maps, as a user's would.
const folder = mkdtempSync(join(tmpdir(), 'millrace-snippets-'));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(join(root, 'node_modules/@millrace'), join(folder, 'node_modules/@millrace'));
for (const name of ['millrace', '@nestjs', 'rxjs', 'prom-client', 'pino'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let executed = 0;

async function execute(code: string): Promise<string> {
  const file = join(folder, `snippet-${++executed}.mjs`);
  writeFileSync(file, code);
  const { stdout } = await run('node', [...SHORT_LIVED_PGLITE, file], { cwd: folder });
  return stdout;
}

/** What a snippet says about its own output: the comment behind each console.log. */
const promised = (code: string) =>
  [...code.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm)].map(([, text]) => text);

describe('snippets', () => {
  const programs = documents.flatMap((path) => snippetsIn(path, 'js'));
  // Side by side: most of the time of each is that of starting Node or an embedded PostgreSQL.
  it.concurrent.each(programs)('$path:$line runs and prints what it says', async ({ code }) => {
    const output = await execute(code);
    for (const line of promised(code)) expect(output.split('\n')).toContain(line);
  });

  it('async-utils SC-001: the five-minute start of the README works as written, from the built package', async () => {
    const [start] = snippetsIn('packages/async-utils/README.md', 'js');
    expect(start?.code).toContain("import { retry } from '@millrace/async-utils'");
    expect(await execute(start?.code ?? '')).toContain('{ rows: 42 }');
  });

  it('the TypeScript snippets compile in a strict project', async () => {
    // The application of the server's README is run by the tests of the server.
    const programs = [...documents, 'apps/server/README.md'].flatMap((path) => snippetsIn(path, 'ts'));
    expect(programs.length).toBeGreaterThan(2);
    const files = programs.map(({ code }, index) => {
      const file = `snippet-${index}.mts`;
      writeFileSync(join(folder, file), code);
      return file;
    });
    const options = {
      module: 'nodenext',
      target: 'es2022',
      strict: true,
      noEmit: true,
      experimentalDecorators: true,
    };
    const config = { compilerOptions: { ...options, skipLibCheck: true, types: [] }, files };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    await run(tool('tsc'), ['-p', folder]).catch(({ stdout }: { stdout: string }) => expect.fail(stdout));
  });
});
