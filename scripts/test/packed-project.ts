import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createPackageFromTarballData } from '@arethetypeswrong/core';
import { SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { root } from '../command.mjs';
import { packPackages } from '../pack-packages.mjs';
import { parseSource } from '../source-files.mjs';

const EXAMPLE = join(root, 'examples/campaign-app');
const installed = (name: string) => join(root, 'node_modules', name);
const NEST_10 = join(root, 'fixtures/nest10/node_modules/@nestjs');
const execute = promisify(execFile);
/** npm's access to its registry. A user has none of the other variables of a test process. */
const OWN_VARIABLES =
  /^(home|npm_config_(cache|registry|userconfig)|https?_proxy|no_proxy|node_extra_ca_certs)$/i;

type Packed = Awaited<ReturnType<typeof packPackages>>[number];

/** A package as it is published. */
export interface PackedPackage {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: the content of a package.json
  readonly manifest: Record<string, any>;
  readonly files: readonly string[];
  readonly tarball: Uint8Array<ArrayBuffer>;
  read(path: string): string;
}

/** The example with the packed packages installed, in a folder from which nothing of the repository can be reached. */
export interface PackedProject extends AsyncDisposable {
  readonly packages: readonly PackedPackage[];
  readonly path: string;
  /** A folder with our packages and their dependencies, and none of the optional packages. */
  readonly bare: string;
  /** The same with NestJS 10 and PGlite. */
  readonly onNest10: string;
  /** An empty folder inside the project. Commands of the project are found from there. */
  readonly empty: string;
  readonly env: NodeJS.ProcessEnv;
  /** What npm printed to standard error while it installed. */
  readonly warnings: string;
  npm(...args: string[]): Promise<unknown>;
}

/** Packs all packages as they are published, and installs them in a copy of the example. */
export async function packedProject(): Promise<PackedProject> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-packed-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const path = join(folder, 'campaign-app');
  const empty = join(path, 'empty');
  const env = userEnvironment();
  const npm = (...args: string[]) => printed('npm', args, { cwd: path, env });
  try {
    for (const name of ['package.json', 'tsconfig.json', 'src'])
      await cp(join(EXAMPLE, name), join(path, name), { recursive: true });
    await mkdir(empty);
    const tarballs = await packPackages(folder);
    await dependOn(tarballs, join(path, 'package.json'));
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock'];
    const { stderr: warnings } = await npm('install', ...quiet);
    const modules = join(path, 'node_modules');
    const bare = await isolated(join(folder, 'bare'), modules);
    const onNest10 = await isolated(join(folder, 'nest-10'), modules, {
      ...{ '@nestjs': NEST_10, '@electric-sql': join(modules, '@electric-sql') },
      ...{ 'reflect-metadata': installed('reflect-metadata'), rxjs: installed('rxjs') },
    });
    const packages = tarballs.map(openTarball);
    return { packages, path, bare, onNest10, empty, env, warnings, npm, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function openTarball({ name, packed }: Packed): PackedPackage {
  const tarball = new Uint8Array(readFileSync(packed));
  const content = createPackageFromTarballData(tarball);
  const start = `/node_modules/${name}/`;
  const files = content.listFiles().map((path) => path.slice(start.length));
  const read = (path: string) => content.readFile(start + path);
  return { name, manifest: JSON.parse(read('package.json')), files, tarball, read };
}

/** The names that code or declarations import. An import whose name is computed has none. */
export function importsOf(path: string, text: string): string[] {
  const parsed: { from: string; at: number }[] = parseSource(path, text).imports;
  const named = parsed.filter(
    ({ at }) => !text.startsWith('import(', at) || /^import\(\s*['"]/.test(text.slice(at)),
  );
  // The parser reports neither `require` nor the imports of types.
  const others = path.endsWith('.cjs') ? /\brequire\('([^']+)'\)/g : /\bimport\("([^"]+)"\)/g;
  const rest = path.endsWith('.js') ? [] : [...text.matchAll(others)].map(([, from = '']) => from);
  return [...named.map(({ from }) => from), ...rest];
}

/** Copies a program of the repository into a folder, runs it there and returns what it printed. */
export async function runIn(folder: string, program: string, ...args: string[]): Promise<string> {
  const copy = join(folder, `${basename(program, '.mjs')}.mjs`);
  await cp(join(root, program), copy);
  const { stdout } = await execute(process.execPath, [...SHORT_LIVED_PGLITE, copy, ...args], { cwd: folder });
  return stdout;
}

/** Takes our packages from the tarballs instead of the registry, those that the project needs indirectly too. */
async function dependOn(tarballs: Packed[], path: string): Promise<void> {
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  for (const { name, packed } of tarballs) manifest.dependencies[name] = `file:${packed}`;
  await writeFile(path, JSON.stringify(manifest));
}

/**
 * Makes a folder with our packages, their dependencies and what `links` names. The packages are copied: through a link Node would find the optional
 * packages that are installed beside the original.
 */
async function isolated(folder: string, installed: string, links: Readonly<Record<string, string>> = {}) {
  const modules = join(folder, 'node_modules');
  await cp(join(installed, '@millrace'), join(modules, '@millrace'), { recursive: true });
  const targets = { ...links };
  for (const name of await readdir(join(modules, '@millrace'))) {
    const manifest = await readFile(join(modules, '@millrace', name, 'package.json'), 'utf8');
    for (const dependency of Object.keys(JSON.parse(manifest).dependencies ?? {}))
      if (!dependency.startsWith('@millrace/')) targets[dependency] = join(installed, dependency);
  }
  for (const [name, target] of Object.entries(targets)) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(target, join(modules, name));
  }
  return folder;
}

function userEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => OWN_VARIABLES.test(name));
  const path = (process.env.PATH ?? '').split(delimiter).filter((place) => !place.startsWith(root));
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}

/** Runs a command and returns what it printed. @throws Error with the same if it fails. */
async function printed(command: string, args: string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
  try {
    return await execute(command, args, options);
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}
