import { buildPage } from './build-page.mjs';
import { COMPILER, runOrExit, tool } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { makePgliteTemplate } from './make-pglite-template.mjs';

/** Builds every changed workspace into its `dist`, and the page into the server. */
export async function build() {
  await runOrExit(tool('tsc'), ['-b'], { env: COMPILER });
  await buildPage();
}

if (import.meta.filename === process.argv[1]) {
  await ensurePackages();
  await Promise.all([build(), makePgliteTemplate()]);
}
