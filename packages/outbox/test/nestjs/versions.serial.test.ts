import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PgliteDatabase } from '@millrace/postgres';
import { pgliteFolder } from '@millrace/testkit';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const packageDir = fileURLToPath(new URL('../../', import.meta.url));
const { dependencies } = createRequire(import.meta.url)('../../package.json') as { dependencies: object };
const PROGRAM = fileURLToPath(new URL('./fixtures/embedded-application.mjs', import.meta.url));
const NEST_10 = resolve(packageDir, '../../fixtures/nest10');
const NEST = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];

/** Where a package is that a folder would import. */
function installed(name: string, from: string): string {
  const folders = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (!found) throw new Error(`${name} is not installed for ${from}`);
  return found;
}

/** A folder outside the workspace with the built package, its dependencies, and the Nest that `from` has. */
async function consumer(from: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-nest-'));
  const modules = join(folder, 'node_modules');
  const own = join(modules, '@millrace/outbox');
  // A copy: through a link Node would find the Nest of the workspace.
  for (const part of ['dist', 'sql', 'package.json'])
    await cp(join(packageDir, part), join(own, part), { recursive: true });
  const links = [
    ...NEST.map((name) => [name, from] as const),
    ...Object.keys(dependencies).map((name) => [name, packageDir] as const),
  ];
  for (const [name, at] of links) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(installed(name, at), join(modules, name));
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  return folder;
}

// On the Nest of the workspace the build runs in shutdown.serial.test.ts.
it('outbox: the built module runs in an application on NestJS 10', async () => {
  using data = await pgliteFolder(async (dataDir) => {
    await using made = new PgliteDatabase({ dataDir });
    await made.start();
  });
  const folder = await consumer(NEST_10);
  try {
    await cp(PROGRAM, join(folder, 'app.mjs'));
    const { stdout } = await run(process.execPath, ['app.mjs', data.dataDir], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual({ nest: '10', results: [42, 42], state: 'STOPPED' });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
