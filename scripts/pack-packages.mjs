import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { build } from './build.mjs';
import { root, run } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { makePgliteTemplate } from './make-pglite-template.mjs';

/** The repository's public address. */
export const REPOSITORY = 'https://github.com/millrace-dev/millrace';

/** An export condition that points to TypeScript. Only the repository's own tools set it. */
export const SOURCE_CONDITION = '@millrace/source';

const read = (...path) => readFileSync(join(root, ...path), 'utf8');

/** Reads the manifest of a workspace. */
export const manifestOf = (folder) => JSON.parse(read(folder, 'package.json'));

/** The folders of all packages, private ones included. */
export const workspaces = ['packages', 'apps']
  .flatMap((place) => readdirSync(join(root, place)).map((name) => join(place, name)))
  .filter((folder) => existsSync(join(root, folder, 'package.json')));

/** The folders of the published packages. */
export const published = () => workspaces.filter((folder) => !manifestOf(folder).private);

/**
 * Copies what a package publishes. `src` is part of it: source maps and declaration maps both point there, and a declaration map cannot
 * carry its source. The licence and the changelog come from the root, the changelog's links become absolute, and the source condition goes.
 */
function stage(folder, destination) {
  const withoutSource = (key, value) => (key === SOURCE_CONDITION ? undefined : value);
  const manifest = JSON.parse(read(folder, 'package.json'), withoutSource);
  const copied = ['README.md', ...manifest.files].filter((name) => existsSync(join(root, folder, name)));
  for (const name of copied) cpSync(join(root, folder, name), join(destination, name), { recursive: true });
  writeFileSync(join(destination, 'package.json'), JSON.stringify(manifest, null, 2));
  writeFileSync(join(destination, 'LICENSE'), read('LICENSE'));
  const changelog = read('CHANGELOG.md').replace(/\]\((?!https?:)/g, `](${REPOSITORY}/blob/main/`);
  writeFileSync(join(destination, 'CHANGELOG.md'), changelog);
  return destination;
}

/**
 * Packs built packages as they are published. One npm packs them all, because starting npm takes longer than packing.
 * @returns {Promise<{ folder: string, name: string, packed: string }[]>} the tarballs
 */
export async function packPackages(destination, folders = published()) {
  const stages = mkdtempSync(join(tmpdir(), 'millrace-stage-'));
  try {
    const staged = folders.map((folder) => stage(folder, join(stages, folder)));
    const args = ['pack', '--json', '--pack-destination', destination, ...staged];
    const { code, output } = await run('npm', args);
    if (code !== 0) throw new Error(`npm pack failed:\n${output}`);
    const list = JSON.parse(output.slice(output.search(/^\[/m)));
    return folders.map((folder, index) => {
      const { name, filename } = list[index];
      return { folder, name, packed: join(destination, filename) };
    });
  } finally {
    rmSync(stages, { recursive: true });
  }
}

if (import.meta.filename === process.argv[1]) {
  const destination = join(root, '.packed');
  await ensurePackages();
  await Promise.all([build(), makePgliteTemplate()]);
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination);
  for (const { packed } of await packPackages(destination)) console.log(relative(root, packed));
  console.log(`\nIn a project of your own:\n  npm install ${join(destination, '*.tgz')}`);
}
