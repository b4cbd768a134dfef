import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createOwnedFolder } from './owned-folder.js';

/** What a program outside the workspace is to import. */
export interface NestConsumerOptions {
  /** Of the package under test. */
  readonly packageDir: string;
  /** What of it is published beside its manifest, such as `dist`. */
  readonly parts: readonly string[];
  /** Whose NestJS it is to run on. */
  readonly nestOf: string;
}

/** A folder outside the workspace. */
export interface NestConsumer extends Disposable {
  readonly path: string;
}

const NEST = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];

/**
 * Makes a folder outside the workspace with a built package, its dependencies, and the NestJS that another folder has.
 * @returns the folder; removed when it is disposed of, at the latest with this process.
 */
export async function nestConsumer({
  packageDir,
  parts,
  nestOf,
}: NestConsumerOptions): Promise<NestConsumer> {
  const folder = createOwnedFolder();
  const modules = join(folder.path, 'node_modules');
  const manifest = manifestOf(packageDir);
  // A copy: through a link Node would find the Nest of the workspace.
  for (const part of [...parts, 'package.json'])
    await cp(join(packageDir, part), join(modules, manifest.name, part), { recursive: true });
  for (const name of NEST) await link(installed(name, nestOf), join(modules, name));
  for (const name of Object.keys(manifest.dependencies ?? {})) {
    const source = installed(name, packageDir);
    // One without dependencies may import NestJS, too, and needs nothing else that is installed beside it.
    if (name.startsWith('@millrace/') && !manifestOf(source).dependencies)
      for (const part of ['dist', 'package.json'])
        await cp(join(source, part), join(modules, name, part), { recursive: true });
    else await link(source, join(modules, name));
  }
  await writeFile(join(folder.path, 'package.json'), '{ "type": "module" }');
  return { path: folder.path, [Symbol.dispose]: () => folder.remove() };
}

function manifestOf(folder: string): { name: string; dependencies?: object } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

async function link(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await symlink(source, target);
}

/** Where a package is that a folder would import. */
function installed(name: string, from: string): string {
  const folders = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (!found) throw new Error(`${name} is not installed for ${from}`);
  return found;
}
