import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from '../command.mjs';
import { install } from '../ensure-packages.mjs';
import { manifestOf, REPOSITORY, workspaces } from '../pack-packages.mjs';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

it.each([...workspaces, 'bench', 'chaos', 'fixtures/nest10'])(
  '%s has a complete manifest that names its place in the repository',
  (folder) => {
    const manifest = manifestOf(folder);
    const isScoped = manifest.name.startsWith('@');
    expect(manifest).toMatchObject({
      description: expect.any(String),
      license: 'MIT',
      // npm publishes a scoped package as a private one by default.
      ...(!manifest.private && isScoped && { publishConfig: { access: 'public' } }),
      homepage: `${REPOSITORY}/tree/main/${folder}#readme`,
      bugs: `${REPOSITORY}/issues`,
      // npm refuses to publish with provenance if this does not match.
      repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory: folder },
    });
  },
);

describe('the lockfile', () => {
  interface Entry {
    readonly link?: boolean;
    readonly resolved?: string;
    readonly optionalDependencies?: Readonly<Record<string, string>>;
  }
  const entries = new Map(Object.entries<Entry>(JSON.parse(read('package-lock.json')).packages));

  /** Resolves a package name from the folder of another package, as Node does. */
  function entryFor(name: string, folder: string): Entry | undefined {
    const end = folder.lastIndexOf('/node_modules/');
    const above = folder === '' ? undefined : folder.slice(0, Math.max(0, end));
    const found = entries.get(join(folder, 'node_modules', name));
    return found ?? (above === undefined ? undefined : entryFor(name, above));
  }

  it('has an entry for the optional packages of every platform', () => {
    const missing = [...entries].flatMap(([folder, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => entryFor(name, folder) === undefined)
        .map((name) => `${folder} needs ${name}`),
    );
    expect(missing).toEqual([]);
    expect(entryFor('@biomejs/cli-darwin-arm64', 'node_modules/@biomejs/biome')).toBeDefined();
  });

  it('names no registry', () => {
    expect([...entries.values()].filter(({ link, resolved }) => resolved && !link)).toEqual([]);
  });

  it.each([
    [0, ['ci']],
    [1, ['ci', 'install --no-save']],
  ])('is not changed by the installation if npm ci ends with %i', async (code, expected) => {
    const commands: string[] = [];
    const npm = async (...args: string[]) => {
      commands.push(args.join(' '));
      return { code: args[0] === 'ci' ? code : 0, output: '' };
    };
    expect((await install(npm)).code).toBe(0);
    expect(commands).toEqual(expected);
  });
});

it('the workflow calls scripts that exist, on the supported releases of Node', () => {
  const { jobs } = parse(read('.github/workflows/test.yml'));
  const commands = Object.values<{ steps: { run?: string }[] }>(jobs).flatMap(({ steps }) =>
    steps.flatMap(({ run }) => run ?? []),
  );
  const names = commands.map((command) => /^npm (?:run )?(\S+)/.exec(command)?.[1]);
  expect(names).toEqual(['test', 'smoke']);
  expect(Object.keys(manifestOf('.').scripts)).toEqual(expect.arrayContaining(names));
  expect(jobs.test.strategy.matrix.node).toEqual([20, 22, 24]);
});
