import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildPage } from './build-page.mjs';
import { COMPILER, root, runOrExit, tool } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { makePgliteTemplate } from './make-pglite-template.mjs';

/** Builds every changed workspace into its `dist`, and the page into the server. */
export async function build() {
  await Promise.all([runOrExit(tool('tsc'), ['-b'], { env: COMPILER }), buildPage()]);
  for (const place of ['packages', 'apps'])
    for (const name of readdirSync(join(root, place))) removeStaleOutput(join(root, place, name));
}

/** Removes the output of deleted sources. `tsc -b` keeps it, and it would be published. */
export function removeStaleOutput(folder) {
  const dist = join(folder, 'dist');
  const built = existsSync(dist) ? readdirSync(dist, { recursive: true }) : [];
  for (const path of built) {
    const [, name, format] = /^(.+?)(?:\.d)?\.(c?)[jt]s(?:\.map)?$/.exec(path) ?? [];
    const isStale =
      name && ![`${format}ts`, 'tsx'].some((end) => existsSync(join(folder, 'src', `${name}.${end}`)));
    if (isStale) rmSync(join(dist, path));
  }
}

if (import.meta.filename === process.argv[1]) {
  await ensurePackages();
  await Promise.all([build(), makePgliteTemplate()]);
}
