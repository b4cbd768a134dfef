import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../command.mjs';
import { install } from '../ensure-packages.mjs';

interface Entry {
  readonly version: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const entries = new Map(Object.entries<Entry>(lockfile.packages));

/** Resolves a package name from the folder of another package, as Node does. */
function entryFor(name: string, folder: string): Entry | undefined {
  const end = folder.lastIndexOf('/node_modules/');
  const above = folder === '' ? undefined : folder.slice(0, Math.max(0, end));
  const found = entries.get(join(folder, 'node_modules', name));
  return found ?? (above === undefined ? undefined : entryFor(name, above));
}

it('the lockfile has an entry for the optional packages of every platform', () => {
  const missing = [...entries].flatMap(([folder, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => entryFor(name, folder) === undefined)
      .map((name) => `${folder} needs ${name}`),
  );
  expect(missing).toEqual([]);
  expect(entryFor('@biomejs/cli-darwin-arm64', 'node_modules/@biomejs/biome')).toBeDefined();
});

it('the lockfile names no registry', () => {
  const resolved = [...entries.values()].filter(({ link, resolved }) => resolved && !link);
  expect(resolved).toEqual([]);
});

it.each([
  [0, ['ci']],
  [1, ['ci', 'install --no-save']],
])('installs without a change of the lockfile when npm ci ends with %i', async (code, expected) => {
  const commands: string[] = [];
  const npm = async (...args: string[]) => {
    commands.push(args.join(' '));
    return { code: args[0] === 'ci' ? code : 0, output: '' };
  };
  expect((await install(npm)).code).toBe(0);
  expect(commands).toEqual(expected);
});
