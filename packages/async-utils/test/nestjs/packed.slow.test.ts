import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const packageDir = resolve(here, '../..');
const workspace = resolve(packageDir, '../..');

const NEST = ['@nestjs/common', '@nestjs/core', '@nestjs/platform-fastify', 'reflect-metadata', 'rxjs'];

/** Where a package is that a folder would import. */
function installed(name: string, from: string): string {
  const folders = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (!found) throw new Error(`${name} is not installed for ${from}`);
  return found;
}

/** A folder outside the workspace with the packed package and the dependencies that `from` has. */
async function consumer(name: string, from: string, dependencies: string[]): Promise<string> {
  const folder = join(temp, name);
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '@millrace'), { recursive: true });
  await cp(join(temp, 'package'), join(modules, '@millrace/async-utils'), { recursive: true });
  for (const dependency of dependencies) {
    await mkdir(dirname(join(modules, dependency)), { recursive: true });
    await symlink(installed(dependency, from), join(modules, dependency));
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  return folder;
}

let temp: string;

beforeAll(async () => {
  temp = await mkdtemp(join(tmpdir(), 'async-utils-packed-'));
  await run('npx', ['tsc', '-b', 'packages/async-utils/tsconfig.build.json'], { cwd: workspace });
  const script = pathToFileURL(join(workspace, 'scripts/pack-packages.mjs')).href;
  const [{ packed }] = await (await import(script)).packPackages(temp, ['packages/async-utils']);
  await run('tar', ['-xzf', packed], { cwd: temp });
});

afterAll(() => rm(temp, { recursive: true, force: true }));

it.each([
  ['10', resolve(workspace, 'fixtures/nest10')],
  ['12', packageDir],
])('async-utils SC-006: the packed package runs in an application on NestJS %s', async (major, from) => {
  const folder = await consumer(`nest${major}`, from, NEST);
  await cp(join(here, 'packed/app.mjs'), join(folder, 'app.mjs'));
  const { stdout } = await run(process.execPath, ['app.mjs'], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual({
    nest: expect.stringMatching(new RegExp(`^${major}\\.`)),
    early: 4,
    work: [200, { tries: 4 }],
    scoped: [200, { tries: 6 }],
    flaky: [200, { calls: 3 }],
    hanging: [408, { statusCode: 408, message: 'Request Timeout' }],
  });
});

it('async-utils SC-006: the packed declarations compile under TypeScript 5.7 and both decorator systems', async () => {
  const folder = await consumer('types', packageDir, [...NEST, '@types/node']);
  await cp(join(here, 'packed/consumer.ts'), join(folder, 'consumer.ts'));
  const compiler = installed('typescript-5.7', packageDir);
  const compile = async (experimentalDecorators: boolean) => {
    const project = join(folder, `tsconfig.${experimentalDecorators}.json`);
    const compilerOptions = {
      ...{ module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: ['node'] },
      experimentalDecorators,
      // The declarations themselves are checked once; they are the same under both systems.
      skipLibCheck: !experimentalDecorators,
    };
    await writeFile(project, JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
    return run(process.execPath, [join(compiler, 'bin/tsc'), '-p', project], { cwd: folder }).then(
      () => 'compiled',
      (error: { stdout: string }) => error.stdout,
    );
  };
  expect(await Promise.all([compile(true), compile(false)])).toEqual(['compiled', 'compiled']);
});
