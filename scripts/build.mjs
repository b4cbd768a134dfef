import { runOrExit, tool } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';

/** Builds every workspace into its `dist`, in dependency order, only what has changed. */
export const build = () => runOrExit(tool('tsc'), ['-b']);

if (import.meta.filename === process.argv[1]) {
  await ensurePackages();
  await build();
}
