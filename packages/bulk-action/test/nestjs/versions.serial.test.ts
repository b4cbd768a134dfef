import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const packageDir = fileURLToPath(new URL('../../', import.meta.url));
const { dependencies } = createRequire(import.meta.url)('../../package.json') as { dependencies: object };
const PROGRAM = fileURLToPath(new URL('./fixtures/memory-application.mjs', import.meta.url));
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
  const folder = await mkdtemp(join(tmpdir(), 'bulk-action-nest-'));
  const modules = join(folder, 'node_modules');
  const own = join(modules, '@millrace/bulk-action');
  // A copy: through a link Node would find the Nest of the workspace.
  for (const part of ['dist', 'lua', 'package.json'])
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

it.each([
  ['10', resolve(packageDir, '../../fixtures/nest10')],
  ['12', packageDir],
])(
  'bulk-action BA-17: the built module runs in an application on NestJS %s, without Redis installed',
  async (nest, from) => {
    const folder = await consumer(from);
    try {
      await cp(PROGRAM, join(folder, 'app.mjs'));
      const { stdout } = await run(process.execPath, ['app.mjs'], { cwd: folder });
      expect(JSON.parse(stdout)).toEqual({ nest, usual: 5, second: 1, shuttingDown: true });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
