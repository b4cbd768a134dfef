import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from './build.mjs';
import { root, run } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { makePgliteTemplate } from './make-pglite-template.mjs';

/**
 * The manifest of a folder of the repository.
 * @param {string} folder
 */
export const manifestOf = (folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));

/** The folders of our packages, the private ones too. */
export const workspaces = ['packages', 'apps']
  .flatMap((place) => readdirSync(join(root, place)).map((name) => join(place, name)))
  .filter((folder) => existsSync(join(root, folder, 'package.json')));

/**
 * Packs everything that is published, as it is built now. All by one npm: starting it for each takes longer than the packing.
 * @returns {Promise<{ folder: string, name: string, packed: string, files: string[] }[]>} the tarballs and what is in them
 */
export async function packPackages(destination) {
  const folders = workspaces.filter((folder) => !manifestOf(folder).private);
  const args = ['pack', '--json', '--pack-destination', destination];
  const { code, output } = await run('npm', [...args, ...folders.map((folder) => `./${folder}`)]);
  if (code !== 0) throw new Error(`npm pack failed:\n${output}`);
  const list = JSON.parse(output.slice(output.search(/^\[/m)));
  return folders.map((folder, index) => ({
    folder,
    name: list[index].name,
    packed: join(destination, list[index].filename),
    files: list[index].files.map(({ path }) => path),
  }));
}

if (import.meta.filename === process.argv[1]) {
  const { mkdirSync, rmSync } = await import('node:fs');
  const destination = join(root, '.packed');
  await ensurePackages();
  await Promise.all([build(), makePgliteTemplate()]);
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination);
  for (const { packed } of await packPackages(destination)) console.log(relative(root, packed));
  console.log(`\nIn a project of your own:\n  npm install ${join(destination, '*.tgz')}`);
}
